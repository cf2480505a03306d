import { type Command } from 'commander'

/** The `berth admin` command, created by the first caller. */
export function adminOf(program: Command): Command {
  const made = program.commands.find(command => command.name() === 'admin')
  return made ?? program.command('admin').description('For administrators.')
}
