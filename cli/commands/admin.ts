import { type Command } from 'commander'

/** `berth admin`, made by whoever asks first. */
export function adminOf(program: Command): Command {
  const made = program.commands.find(command => command.name() === 'admin')
  return made ?? program.command('admin').description('For administrators.')
}
