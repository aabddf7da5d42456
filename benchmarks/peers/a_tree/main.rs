//! The crate a-tree, fed from a folder and asked on request.
//!
//! `attributes.txt` has the name of an integer a line, `subscriptions.txt` an expression in the crate's language, and
//! `events.txt` the `name=value` pairs of an event. The first line of output tells what taking the subscriptions cost.
//! From then on each line of input is a number of events to search for, answered by a line of JSON; `answers` writes the
//! ids of every event to `answers.txt` instead. Times are the processor's.

use a_tree::{ATree, AttributeDefinition, Event};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("name the folder of the workload")?;
    let folder = Path::new(&folder);
    let attributes = fs::read_to_string(folder.join("attributes.txt"))?;
    let subscriptions = fs::read_to_string(folder.join("subscriptions.txt"))?;
    let lines: Vec<&str> = subscriptions.lines().collect();

    let definitions: Vec<_> = attributes
        .lines()
        .map(AttributeDefinition::integer)
        .collect();
    let mut tree = ATree::<u32>::new(&definitions).map_err(|error| error.to_string())?;
    let (bytes, began) = (resident_bytes()?, processor_seconds());
    for (id, expression) in lines.iter().enumerate() {
        tree.insert(&u32::try_from(id)?, expression)
            .map_err(|error| error.to_string())?;
    }
    let seconds = processor_seconds() - began;
    println!(
        r#"{{"build_seconds": {seconds}, "bytes": {}}}"#,
        resident_bytes()?.saturating_sub(bytes)
    );

    let events = read_events(&tree, &fs::read_to_string(folder.join("events.txt"))?)?;
    for request in io::stdin().lock().lines() {
        let request = request?;
        if request == "answers" {
            fs::write(folder.join("answers.txt"), answers(&tree, &events)?)?;
            println!("{{}}");
        } else {
            println!("{}", timed(&tree, &events[..request.parse()?])?);
        }
    }
    Ok(())
}

fn read_events(tree: &ATree<u32>, text: &str) -> Result<Vec<Event>, Box<dyn Error>> {
    let mut events = Vec::new();
    for line in text.lines() {
        let mut builder = tree.make_event();
        for pair in line.split(' ') {
            let (name, value) = pair.split_once('=').ok_or("a pair is name=value")?;
            builder.with_integer(name, value.parse()?)?;
        }
        events.push(builder.build()?);
    }
    Ok(events)
}

fn timed(tree: &ATree<u32>, events: &[Event]) -> Result<String, Box<dyn Error>> {
    let began = processor_seconds();
    let mut ids = 0;
    for event in events {
        ids += tree
            .search(event)
            .map_err(|error| error.to_string())?
            .matches()
            .len();
    }
    let us = (processor_seconds() - began) * 1e6 / events.len() as f64;
    Ok(format!(r#"{{"us_an_event": {us}, "ids": {ids}}}"#))
}

fn answers(tree: &ATree<u32>, events: &[Event]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for event in events {
        let report = tree.search(event).map_err(|error| error.to_string())?;
        let mut ids: Vec<u32> = report.matches().iter().map(|id| **id).collect();
        ids.sort_unstable();
        for id in ids {
            write!(text, "{id} ")?;
        }
        text.push('\n');
    }
    Ok(text)
}

fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec that outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let pages: usize = fs::read_to_string("/proc/self/statm")?
        .split(' ')
        .nth(1)
        .ok_or("statm has no second field")?
        .parse()?;
    Ok(pages * 4096)
}
