"""What MkDocs is told to do beside its own work: pages made of notebooks, and the Python API out of the package's sources."""

import base64
import json
import re
import textwrap
from pathlib import Path

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
#: Classes that functions return and users never construct.
RETURNED = ("Fit", "Run", "Summary", "Check", "Comparison", "Effects", "Map")


def on_config(config):
    """The gallery's page stands among those for newcomers where it has been made (`make gallery-page`)."""
    if (ROOT / "docs" / "gallery.md").exists():
        group = next(part["For newcomers"] for part in config["nav"] if isinstance(part, dict) and "For newcomers" in part)
        group.append({"Is it right in practice?": "gallery.md"})
    return config


def on_files(files, config):
    """Adds the pages that are made, not written."""
    files.append(File.generated(config, "api/python.md", content=python_page()))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page, pictures = notebook_page(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=page))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown, **_):
    """Leaves out the lines that rustdoc hides."""
    return re.sub(r"(?ms)^```rust\n.*?^```$", lambda block: re.sub(r"(?m)^# .*\n", "", block[0]), markdown)


def notebook_page(path):
    """A notebook as Markdown, and its pictures by name."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts, pictures = [], {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{len(pictures)}.png"
                pictures[name] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![what this cell draws]({name})")
            else:
                text = "".join(data.get("text/plain", output.get("text", "")))
                parts.append(f"```text\n{text.rstrip()}\n```")
    parts.append(f"[This page as a notebook]({path.name})")
    return "\n\n".join(parts) + "\n", pictures


def python_page():
    """Every public name of the package, from its sources: the compiled module is not needed."""
    package = griffe.load("towline", search_paths=[str(ROOT / "python")], allow_inspection=False, docstring_parser="numpy")
    groups = {"Models": [], "Sampling": [], "Runs": [], "After the fit": [], "Priors": [], "Errors": []}
    for name in package.exports:
        made = package[name.name if hasattr(name, "name") else name]
        made = made.final_target if made.is_alias else made
        module = made.module.name
        kind = {"_model": "Models", "_fit": "Models", "_sampling": "Sampling", "_run": "Runs", "_answers": "After the fit", "_priors": "Priors"}
        groups[kind.get(module, "Errors")].append(made)
    parts = ["# The Python package", described(package), "This page is made of the package's sources."]
    for title, members in groups.items():
        if members:
            parts.append(f"## {title}")
        for one in members:
            parts += of_class(one) if one.is_class else of_function(one, 3)
    return "\n\n".join(part for part in parts if part) + "\n"


def of_class(one):
    """A class, its docstring and its public members."""
    takes = one.members.get("__init__")
    parts = [f"### {one.name}"]
    if takes is not None and one.name not in RETURNED:
        parts.append(code(signature(one.name, takes, skip=1)))
    values = arguments_of_prior(one)
    if values:
        parts = [f"### {one.name}", code(f"{one.name}({values})")]
    parts.append(described(one))
    for name, member in one.members.items():
        if name.startswith("_") or member.docstring is None:
            continue
        if member.is_function:
            parts.append(f"**{name}**\n\n" + code(signature(name, member, skip=1)) + "\n\n" + described(member))
        elif member.is_attribute:
            parts.append(f"**{name}**: {described(member)}")
    return parts


def arguments_of_prior(one):
    """The names of a prior's arguments, which its class keeps in a tuple."""
    found = one.members.get("_arguments")
    if found is None:
        for line in one.source.splitlines():
            if "_arguments = " in line:
                return ", ".join(part.strip(' "()') for part in line.split("(", 1)[1].split(",") if part.strip(' "()'))
        return ""
    text = str(found.value)
    return ", ".join(part.strip(" '\"()") for part in text.split(",") if part.strip(" '\"()"))


def of_function(one, level):
    """A function."""
    return [f"{'#' * level} {one.name}", code(signature(one.name, one)), described(one)]


def signature(name, function, skip=0):
    """A signature, one argument a line where there are many."""
    shown = []
    for parameter in list(function.parameters)[skip:]:
        text = parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}"
        star = {"variadic positional": "*", "variadic keyword": "**"}.get(parameter.kind.value, "")
        shown.append(f"{star}{parameter.name}" if star else text)
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(shown) + ",\n)"


def code(text):
    """As a block of Python."""
    return f"```python\n{text}\n```"


def described(one):
    """A docstring as Markdown."""
    if one.docstring is None:
        return ""
    parts = []
    for section in one.docstring.parse("numpy"):
        if section.kind.value == "text":
            parts.append(section.value.replace("::\n", ":\n"))
        elif section.kind.value == "parameters":
            # What is described together has one description.
            together = {}
            for parameter in section.value:
                together.setdefault(parameter.description, []).append(f"`{parameter.name}`")
            for description, names in together.items():
                parts.append(f"{', '.join(names)}\n:   " + textwrap.indent(description, "    ").strip())
        else:
            raise ValueError(f"{one.path}: a section {section.kind.value}, which docs/build/hooks.py does not know")
    return "\n\n".join(parts)
