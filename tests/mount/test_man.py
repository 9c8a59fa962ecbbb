"""The manual pages: well-formed, and they have every command, flag and option that --help has."""

import re
import shutil
import subprocess

import pytest
import rig

PAGES = ["weightfs.1", "mount.weightfs.8"]
COMMANDS = ["mount", "umount", "ls", "info", "export", "verify", "warm", "stats", "cache key", "cache ls", "cache prune"]


def page(name):
    return rig.REPO / "mount" / name


def shown(name):
    """The page as plain text, its words as they are typed."""
    if shutil.which("mandoc"):
        command = ["mandoc", "-Tascii", "-Owidth=1000", page(name)]
    elif shutil.which("groff"):
        command = ["groff", "-mandoc", "-Tascii", "-P-c", "-rLL=999n", page(name)]
    else:
        pytest.skip("neither mandoc nor groff is here")
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub("_\b|.\b", "", text)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_well_formed(name):
    tools = {"mandoc": ["mandoc", "-Tlint", "-Wwarning"], "groff": ["groff", "-mandoc", "-ww", "-z"]}
    there = [command for tool, command in tools.items() if shutil.which(tool)]
    if not there:
        pytest.skip("neither mandoc nor groff is here")
    for command in there:
        run = subprocess.run([*command, page(name)], capture_output=True, text=True)
        assert run.returncode == 0 and run.stdout + run.stderr == "", run


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_all_of_the_help(command):
    text = shown("weightfs.1")
    told = rig.weightfs(*command.split(), "--help").out
    usage = re.search("^Usage: weightfs (.*)$", told, re.M).group(1).replace("[OPTION]… ", "")
    assert re.search("^ +%s$" % re.escape(usage), text, re.M), usage
    for letter, flag, value in re.findall(r"^  (?:-(\w), |    )--([a-z_]+)(?: ([A-Z]+))?", told, re.M):
        line = ("-%s, " % letter if letter else "") + "--" + flag + (" " + value if value else "")
        assert re.search("^ +%s$" % re.escape(line), text, re.M), line
    for option, value in re.findall(r"^  --([a-z_]+)(=\S+)? ", told, re.M):
        assert re.search(r"(^ +|, )%s(,|$)" % re.escape(option + value), text, re.M), option + value


def test_the_page_has_nothing_that_the_help_has_not():
    told = "".join(rig.weightfs(*command.split(), "--help").out for command in COMMANDS) + "--help --version"
    for flag in set(re.findall(r"--[a-z_-]+", shown("weightfs.1"))):
        assert flag in told or flag in ("--model-name", "--key"), flag  # the converter's; any option


def test_the_helper_s_page_has_its_letters(model, tmp_path):
    text = shown("mount.weightfs.8")
    letters = set(re.search(r"\[-([a-z]+)\]", text).group(1)) | set(re.findall(r"\[-([A-Za-z]) ", text))
    helper = tmp_path / "mount.weightfs"
    helper.symlink_to(rig.BIN)
    taken = set()
    for letter in map(chr, [*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]):
        value = [] if letter in "fnrsvw" else ["x-value"]
        run = rig.weightfs(tmp_path / "absent", tmp_path, "-" + letter, *value, program=helper, check=False)
        if "there is no flag" not in run.err and letter != "h":
            taken.add(letter)
    assert letters == taken
