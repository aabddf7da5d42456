from pathlib import Path

import pytest

from tamis.broker.errors import ConfigurationError, MissingError
from tamis.broker.settings_files import Loaded, load
from tamis.broker.settings_keys import Key, masked

SERVERS: Key = ("kafka", "bootstrap_servers")


class Machine:
    """A home, a folder to work in below it, and an environment."""

    def __init__(self, root: Path) -> None:
        self.home = root
        self.work = root / "project" / "deep"
        self.work.mkdir(parents=True)
        self.environment = {"HOME": str(root), "PATH": "/bin", "TAMIS_TEST_STACK": "local"}

    @property
    def user_file(self) -> Path:
        return self.home / ".config" / "tamis" / "config.toml"

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def project(self, text: str) -> Path:
        return self.write(self.home / "project" / "tamis.toml", text)

    def user(self, text: str) -> Path:
        return self.write(self.user_file, text)

    def load(self, *, context: str | None = None, file: Path | None = None, servers: str | None = None) -> Loaded:
        given = {} if servers is None else {SERVERS: (servers, "--servers")}
        return load(given, file=file, context=context, environment=self.environment, folder=self.work)

    def refusal(self, *, context: str | None = None, file: Path | None = None) -> str:
        with pytest.raises(ConfigurationError) as caught:
            self.load(context=context, file=file)
        return str(caught.value)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def servers(loaded: Loaded) -> tuple[str, str]:
    return loaded.settings.kafka.bootstrap_servers, loaded.origins.get(SERVERS, "default")


def test_each_place_is_weaker_than_the_one_before_it(machine: Machine) -> None:
    assert servers(machine.load()) == ("localhost:9092", "default")
    user = machine.user('kafka.bootstrap_servers = "user:1"\n[contexts.eu.kafka]\nbootstrap_servers = "eu:1"')
    assert servers(machine.load()) == ("user:1", str(user))
    machine.user('current = "eu"\n' + user.read_text())
    assert servers(machine.load()) == ("eu:1", f"{user}, context eu")
    project = machine.project('kafka.bootstrap_servers = "project:1"')
    assert servers(machine.load()) == ("project:1", str(project))
    machine.environment["TAMIS_KAFKA__BOOTSTRAP_SERVERS"] = "variable:1"
    assert servers(machine.load()) == ("variable:1", "environment TAMIS_KAFKA__BOOTSTRAP_SERVERS")
    assert servers(machine.load(servers="flag:1")) == ("flag:1", "flag --servers")


def test_a_context_is_as_strong_as_who_named_it(machine: Machine) -> None:
    machine.user('[contexts.eu.kafka]\nbootstrap_servers = "eu:1"')
    machine.project('kafka.bootstrap_servers = "project:1"')
    machine.environment["TAMIS_CONTEXT"] = "eu"
    assert servers(machine.load())[0] == "eu:1"
    machine.environment["TAMIS_KAFKA__BOOTSTRAP_SERVERS"] = "variable:1"
    assert servers(machine.load())[0] == "variable:1"
    assert servers(machine.load(context="eu"))[0] == "eu:1"
    assert servers(machine.load(context="eu", servers="flag:1"))[0] == "flag:1"


def test_settings_of_one_table_come_from_several_places(machine: Machine) -> None:
    machine.user("[broker]\nbatch_events = 5\nbatch_topics = 6")
    machine.project("[broker]\nbatch_events = 7")
    broker = machine.load().settings.broker
    assert (broker.batch_events, broker.batch_topics) == (7, 6)


def test_a_named_file_is_read_instead_of_all_others(machine: Machine) -> None:
    machine.user('prefix = "user"')
    machine.project('prefix = "project"')
    file = machine.write(machine.home / "other.toml", 'redis.url = "redis://other:1/0"')
    for loaded in (machine.load(file=file), loaded_by_variable(machine, file)):
        assert loaded.settings.prefix == "tamis"
        assert loaded.settings.redis.url == "redis://other:1/0"


def loaded_by_variable(machine: Machine, file: Path) -> Loaded:
    machine.environment["TAMIS_CONFIG"] = str(file)
    return machine.load()


def test_a_file_that_is_not_there_is_missing(machine: Machine) -> None:
    with pytest.raises(MissingError, match=r"no file .*/none\.toml"):
        machine.load(file=machine.home / "none.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kafka.bootstrap_server = "x:1"', "there is no kafka.bootstrap_server. Did you mean bootstrap_servers?"),
        ("[brokr]\nengine = 1", "there is no brokr. Did you mean broker?"),
        ("[events.orders]\nframming = 1", "there is no events.orders.framming. Did you mean framing?"),
        ('kafka = "x:1"', "kafka is a table, not str"),
        ("prefix.x = 1", "prefix is one value, not a table"),
        ("kafka.bootstrap_servers = 5", "kafka.bootstrap_servers = 5"),
        ("broker.batch_events = 0", "broker.batch_events = 0"),
        ('kafka.extra."group.id" = "x"', "kafka.extra.\"group.id\" = 'x'"),
        ("prefix = ", "is no TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_with_the_file(machine: Machine, text: str, said: str) -> None:
    project = machine.project(text)
    refusal = machine.refusal()
    assert str(project) in refusal
    assert said in refusal


def test_a_wrong_key_is_refused_also_in_a_context_that_is_not_in_use(machine: Machine) -> None:
    user = machine.user("[contexts.eu.redis]\nurll = 'x'")
    assert machine.refusal() == f"{user}: there is no redis.urll. Did you mean url?"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TAMIS_KAFKA__BOOTSTRAP_SERVER", "x", "Did you mean bootstrap_servers?"),
        ("TAMIS_KAKFA__BOOTSTRAP_SERVERS", "x", "Did you mean kafka?"),
        ("TAMIS_KAFKA", "x:1", "kafka is a table: give it as JSON"),
        ("TAMIS_BROKER__BATCH_EVENTS", "many", "broker.batch_events = 'many'"),
        ("TAMIS_EVENTS__ORDERS__ID", "x", "give the whole table, as JSON"),
        ("TAMIS_PREFIX__X", "x", "prefix is one value"),
    ],
)
def test_what_is_wrong_in_a_variable_is_refused_with_its_name(
    machine: Machine, name: str, value: str, said: str
) -> None:
    machine.environment[name] = value
    refusal = machine.refusal()
    assert name in refusal
    assert said in refusal


def test_variables_reach_every_kind_of_setting(machine: Machine) -> None:
    machine.environment |= {
        "TAMIS_BROKER__BATCH_EVENTS": "77",
        "TAMIS_KAFKA__EXTRA__SECURITY_PROTOCOL": "SSL",
        "TAMIS_REDIS__EXTRA__SOCKET_TIMEOUT": "9",
        "TAMIS_EVENTS": '{"orders": {"framing": "json", "id": "number"}}',
        "TAMIS_SOMETHING": "another program's",
    }
    settings = machine.load().settings
    assert settings.broker.batch_events == 77
    assert settings.kafka.extra == {"security.protocol": "SSL"}
    assert list(settings.redis.extra) == ["socket_timeout"]
    assert settings.events["orders"].id == "number"


def test_the_clients_own_properties_pass_with_their_names_and_as_text(machine: Machine) -> None:
    machine.project('[kafka.extra]\n"socket.timeout.ms" = 5000\n"enable.ssl.certificate.verification" = false')
    assert machine.load().settings.kafka.extra == {
        "socket.timeout.ms": "5000",
        "enable.ssl.certificate.verification": "false",
    }


def test_paths_are_relative_to_the_file_that_has_them(machine: Machine) -> None:
    project = machine.project('[events.orders]\nframing = "raw"\nschema_file = "schemas/order.avsc"')
    assert machine.load().settings.events["orders"].schema_file == project.parent / "schemas" / "order.avsc"


def test_secrets_may_be_in_files_of_their_own(machine: Machine) -> None:
    machine.project('redis.url_file = "redis-url"\n[kafka.extra_files]\n"sasl.password" = "secrets/sasl"')
    machine.write(machine.home / "project" / "redis-url", "redis://:pass@r:1/0\n")
    machine.write(machine.home / "project" / "secrets" / "sasl", " with spaces \n")
    loaded = machine.load()
    assert loaded.settings.kafka.extra == {"sasl.password": " with spaces "}
    assert loaded.settings.redis.url == "redis://:pass@r:1/0"
    assert loaded.secrets == {("kafka", "extra", "sasl.password"), ("redis", "url")}


def test_a_secret_file_that_is_not_there_is_told_with_its_key(machine: Machine) -> None:
    machine.environment["TAMIS_KAFKA__EXTRA_FILES__SASL_PASSWORD"] = "/none/such"
    assert 'kafka.extra_files."sasl.password" names /none/such, which cannot be read' in machine.refusal()


def test_one_setting_is_not_taken_from_two_places_of_one_file(machine: Machine) -> None:
    machine.write(machine.home / "project" / "s", "x")
    machine.project('[kafka]\nextra = {"sasl.password" = "a"}\nextra_files = {"sasl.password" = "s"}')
    assert 'kafka.extra."sasl.password" is given twice' in machine.refusal()


@pytest.mark.parametrize("key", ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret", "ssl.key.pem"])
def test_a_secret_is_no_flag_and_is_not_shown(key: str, machine: Machine) -> None:
    path = ("kafka", "extra", key)
    assert masked(path, "hush") == "***"
    with pytest.raises(ConfigurationError) as caught:
        load({path: ("hush", "-X")}, environment=machine.environment, folder=machine.work)
    assert "TAMIS_KAFKA__EXTRA__" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_secret_is_not_in_a_refusal(machine: Machine) -> None:
    machine.project('kafka.extra."sasl.password" = ["hush"]')
    assert "hush" not in machine.refusal()
    machine.project('kafka.extra = "hush"')
    assert "hush" not in machine.refusal()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:hush@host:1/0", "redis://user:***@host:1/0"),
        ("redis://:hu:s@h@host/0", "redis://:***@host/0"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://:hu/s?h#x@host/0", "redis://:***@host/0"),
        ("user:hush@host:6379", "user:***@host:6379"),
        ("redis://host/0?password=hush", "redis://host/0?password=***"),
        (
            "unix:///run/redis.sock?db=1&password=h=u#s@h&socket_timeout=5",
            "unix:///run/redis.sock?db=1&password=***&socket_timeout=5",
        ),
        (
            "redis://host:6379/0?ssl_keyfile=/key&SSL_p%61ssword=hu@sh",
            "redis://host:6379/0?ssl_keyfile=/key&SSL_p%61ssword=***",
        ),
        ("https://host/token?client_secret=hush", "https://host/token?client_secret=***"),
        ("host:6379?password=hush", "host:6379?password=***"),
        ("https://one,https://key:hush@two", "https://one,https://key:***@two"),
        (" redis://user:hush@host", " redis://user:***@host"),
        ("s3a://bucket/tamis@home:1", "s3a://bucket/tamis@home:1"),
        ("kafka-1:9092,kafka-2:9092", "kafka-1:9092,kafka-2:9092"),
    ],
)
def test_the_password_in_an_address_is_not_shown(url: str, shown: str) -> None:
    assert masked(("redis", "url"), url) == shown


def test_a_context_may_be_production(machine: Machine) -> None:
    machine.user("[contexts.prod]\nproduction = true\n[contexts.dev]")
    assert machine.load(context="prod").production
    assert not machine.load(context="dev").production
    assert not machine.load().production


def test_a_context_that_there_is_not_is_missing(machine: Machine) -> None:
    with pytest.raises(MissingError, match="no file has any"):
        machine.load(context="prod")
    machine.user("[contexts.prod]")
    with pytest.raises(MissingError, match=r"has no context prdo\. Did you mean prod\?"):
        machine.load(context="prdo")
    machine.user('current = "prdo"\n[contexts.prod]')
    assert "Did you mean prod?" in machine.refusal()


def test_contexts_are_the_users_not_the_projects(machine: Machine) -> None:
    machine.project("[contexts.prod]")
    assert "contexts belong into your own file" in machine.refusal()
