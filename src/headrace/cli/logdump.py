import typer

app = typer.Typer()


@app.command()
def dump() -> None: ...
@app.command()
def x() -> None: ...
