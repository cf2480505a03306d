import { type Command, Option } from 'commander'
import { createOutput } from '../output.ts'

/** Commands that took `--group` for a project, with the old and the new name of the option. */
const OLD_OPTIONS: readonly (readonly [command: string, was: string, is: string])[] = [
  ['usage', '--group', '--project'],
  ['session create', '--group', '--project'],
  ['preset ls', '--group', '--project'],
  ['folder create', '--group', '--project'],
  ['admin preset ls', '--group', '--project'],
  ['admin usage limits', '--group', '--project'],
  ['admin resource-group grant', '--group', '--project'],
  ['admin resource-group withdraw', '--group', '--project'],
  ['admin user ls', '--group', '--project'],
  ['admin user create', '--groups', '--projects'],
  ['admin user update', '--groups', '--projects'],
]

/**
 * Keeps scripts that say `group` for a project working for one version: the old words do the same as the new ones, are not in the help, and
 * print the new word on stderr. Call it once all commands are added.
 *
 * @throws Error for a command or an option that the program does not have
 */
export function acceptOldWords(program: Command): void {
  for (const [command, was, is] of OLD_OPTIONS) acceptOldOption(commandOf(program, command), was, is)
  acceptOldCommand(commandOf(program, 'admin'), 'group', commandOf(program, 'admin project'))
}

function acceptOldOption(command: Command, was: string, is: string): void {
  const option = command.options.find(({ long }) => long === is)
  if (!option) throw new Error(`berth ${command.name()} has no option ${is}`)
  const old = new Option(option.flags.replace(is, was)).hideHelp()
  if (option.parseArg) old.argParser(option.parseArg)
  // Commander stores the value of an option under this name, and so under that of the new option.
  old.attributeName = () => option.attributeName()
  command.addOption(old).on(`option:${old.name()}`, () => tell(was, is))
}

function acceptOldCommand(parent: Command, was: string, is: Command): void {
  const [before, now] = [`berth ${parent.name()} ${was}`, `berth ${parent.name()} ${is.name()}`]
  parent
    .command(`${was} [arguments...]`, { hidden: true })
    .description(`Is called \`${now}\` now.`)
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      tell(before, now)
      await is.parseAsync(args, { from: 'user' })
    })
}

const tell = (was: string, is: string) =>
  createOutput(false).note(`Note: "${was}" is called "${is}" now; the next version knows only the new word.`)

/** @param path words after `berth` */
function commandOf(program: Command, path: string): Command {
  return path.split(' ').reduce((parent, word) => {
    const found = parent.commands.find(command => command.name() === word)
    if (!found) throw new Error(`berth has no command ${path}`)
    return found
  }, program)
}
