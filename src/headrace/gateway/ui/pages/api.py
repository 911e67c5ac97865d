"""The REST paths, from the same description as /openapi.json: what each takes and answers."""

from collections import defaultdict
from collections.abc import Sequence

from headrace.gateway.openapi_view import Content, Parameter, RestOperation, operations, shape
from headrace.gateway.problem import PROBLEM_REPLY
from headrace.gateway.ui import words
from headrace.gateway.ui.grid import Column, Grid, Row, Tone
from headrace.gateway.ui.pieces import Panel, Text, anchor, head, tagged
from headrace.gateway.ui.watch import Watch

TONES: dict[str, Tone] = {"GET": "calm", "POST": "good", "PATCH": "warn", "DELETE": "bad"}
PARAMETERS = (
    Column("name", "Parameter"),
    Column("place", "In", "stamp"),
    Column("shape", "Type"),
    Column("default", "If not given"),
    Column("text", "What it is", width="50%"),
)


def api(watch: Watch) -> None:
    description = watch.describe()
    with head("API"):
        anchor("openapi.json", "/openapi.json", "hr-link-act").props("target=_blank")
    with Panel("Every path").body():
        tagged("p", description["info"]["description"], "hr-said")
        tagged(
            "p", "Open one for its parameters, bodies and replies. In JSON, a name with ? may be left out.", "hr-said"
        )
    by_tag: defaultdict[str, list[RestOperation]] = defaultdict(list)
    for operation in operations(description):
        by_tag[operation.tag].append(operation)
    for tag, listed in by_tag.items():
        with Panel(tag.capitalize()), tagged("div", classes="hr-operations"):
            for operation in listed:
                _operation(operation)
    with Panel("Errors").body():
        tagged("p", f"{PROBLEM_REPLY['description']} Any path may answer it.", "hr-said")
        for media_type, content in PROBLEM_REPLY["content"].items():
            _content(Content("4xx, 5xx", media_type, "", shape(content["schema"], {})))


def _operation(operation: RestOperation) -> None:
    with tagged("details") as box, tagged("summary"):
        Text(operation.method, f"hr-tag {TONES.get(operation.method, '')}")
        Text(operation.path, "hr-mono")
        Text(operation.summary, "hr-muted")

    def fill() -> None:
        # When it is opened first: all of them at once would take the gateway's loop for a tenth of a second.
        if len(box.default_slot.children) == 1:
            with box:
                _inside(operation)

    box.on("toggle", fill, args=[])


def _inside(operation: RestOperation) -> None:
    if operation.text:
        tagged("p", operation.text, "hr-said")
    if operation.parameters:
        name = f"Parameters of {operation.method} {operation.path}"
        Grid(name, PARAMETERS, "").show([_parameter_row(each) for each in operation.parameters])
    _contents("It takes", operation.bodies)
    _contents("It answers", operation.replies)


def _parameter_row(parameter: Parameter) -> Row:
    default = "required" if parameter.is_required else parameter.default or words.NOTHING
    return {"key": parameter.name, **parameter._asdict(), "default": default}


def _contents(title: str, contents: Sequence[Content]) -> None:
    if contents:
        tagged("h3", title)
    for content in contents:
        _content(content)


def _content(content: Content) -> None:
    with tagged("p", classes="hr-said"):
        for part in (content.status, content.media_type):
            if part:
                Text(part, "hr-tag")
        Text(content.text)
    if content.shape:
        with tagged("pre", classes="hr-payload").props("tabindex=0"):
            Text(content.shape)
