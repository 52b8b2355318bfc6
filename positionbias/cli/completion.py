"""``posbias completion``: the script that teaches a shell to complete ``posbias``."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from positionbias.cli.generate import SettingsCommand


@click.command(cls=SettingsCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash, for this session:
      eval "$(posbias completion bash)"
    bash, for good:
      posbias completion bash \\
        > ~/.local/share/bash-completion/completions/posbias
    zsh, for good:
      posbias completion zsh > "${fpath[1]}/_posbias"
    fish, for good:
      posbias completion fish > ~/.config/fish/completions/posbias.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(context.find_root().command, {}, "posbias", "_POSBIAS_COMPLETE")
    # ShellComplete's own source(): Bash's first runs the local bash to learn its version, which the
    # script's reader may not have
    click.echo(ShellComplete.source(completer))
