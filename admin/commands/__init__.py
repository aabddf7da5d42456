"""The commands: one module each, whose `app` the command line imports when it is called."""
