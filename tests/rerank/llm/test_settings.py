"""The user's settings of a language model."""

import pytest

from tosloc.core.errors import ConfigError
from tosloc.rerank.llm.settings import read_settings, settings_file

SETTINGS = 'url = "http://127.0.0.1:11434/v1"\nmodel = "qwen"\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes the settings file."""
    file = tmp_path / "llm.toml"
    monkeypatch.setenv("TOSLOC_LLM", str(file))
    return lambda text: file.write_text(text, encoding="utf-8")


def test_settings_have_defaults(write):
    write(SETTINGS)
    settings = read_settings()
    assert settings.files == 80
    assert settings.prompt_tokens == 8_000
    assert settings.key == ""


def test_settings_are_in_the_users_configuration(tmp_path, monkeypatch):
    monkeypatch.delenv("TOSLOC_LLM", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings_file() == tmp_path / "tosloc" / "llm.toml"


def test_missing_settings_are_one_sentence_with_an_example(write):
    with pytest.raises(ConfigError, match=r"llm.toml: no such file.*create it.*url = "):
        read_settings()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("url = ", "cannot be read"),
        ("url = " + "[" * 50_000, "cannot be read"),
        ('model = "qwen"', "url: Field required"),
        ('url = "ftp://host"\nmodel = "qwen"', "url: .*http"),
        ('url = "http:///v1"\nmodel = "qwen"', "url: .*http"),
        (SETTINGS.replace("11434", "99999"), "url: .*[Pp]ort"),
        (SETTINGS + "files = 1", "files: "),
        (SETTINGS + "seconds = inf", "seconds: "),
        (SETTINGS + "seconds = nan", "seconds: "),
        (SETTINGS + "seconds = 1e9", "seconds: "),
        (SETTINGS + f"prompt_tokens = 1{'0' * 400}", "prompt_tokens: "),
        (SETTINGS + "colour = 1", "colour: "),
    ],
    ids=[
        "no TOML",
        "deep",
        "no url",
        "scheme",
        "no host",
        "port",
        "too few files",
        "endless",
        "no number",
        "days",
        "endless prompt",
        "unknown key",
    ],
)
def test_wrong_settings_are_one_sentence(write, text, why):
    write(text)
    with pytest.raises(ConfigError, match=why):
        read_settings()


def test_key_is_read_from_the_named_variable(write, monkeypatch):
    write(SETTINGS + 'key_variable = "MY_KEY"')
    monkeypatch.setenv("MY_KEY", "secret")
    assert read_settings().key == "secret"


def test_missing_key_is_one_sentence(write, monkeypatch):
    write(SETTINGS + 'key_variable = "MY_KEY"')
    monkeypatch.delenv("MY_KEY", raising=False)
    settings = read_settings()
    with pytest.raises(ConfigError, match="MY_KEY is not set"):
        _ = settings.key


def test_host_does_not_show_a_password(write):
    write(SETTINGS.replace("127.0.0.1:11434", "ann:secret@models.example.org:8000"))
    assert read_settings().host == "models.example.org:8000"


PROXY = "http://ann:secret@proxy.example.org:3128"


@pytest.fixture
def destination(write, monkeypatch):
    """Return a function that says where the question for an address goes, with a proxy set."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, PROXY)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    def describe(url):
        write(f'url = "{url}"\nmodel = "qwen"\n')
        return read_settings().destination

    return describe


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "[::1]", "0.0.0.0"]
)
def test_this_machine_is_asked_without_a_proxy(destination, host):
    assert destination(f"http://{host}:11434/v1") == f"{host}:11434"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_on_the_way_is_named_without_its_password(destination, scheme):
    named = "models.example.org through the proxy proxy.example.org:3128"
    assert destination(f"{scheme}://models.example.org/v1") == named


@pytest.mark.parametrize("exceptions", ["example.org", "*", "10.1.2.3", "10.0.0.0/8"])
def test_hosts_without_a_proxy_are_asked_directly(destination, monkeypatch, exceptions):
    monkeypatch.setenv("no_proxy", f"{exceptions}")
    host = "10.1.2.3" if exceptions.startswith("10") else "models.example.org"
    assert destination(f"https://{host}/v1") == host
