import { Command, CommanderError } from 'commander'
import { sayFormErrorsPlainly } from '#manager/contract'
import { addAccountCommands } from './commands/accounts.ts'
import { addAgentCommands } from './commands/agents.ts'
import { addAppCommand } from './commands/app.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addDomainCommands } from './commands/domains.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addGroupCommands } from './commands/groups.ts'
import { addAdminImageCommands, addImageCommands } from './commands/images.ts'
import { addKeypairCommands } from './commands/keypairs.ts'
import { addLoginCommands } from './commands/login.ts'
import { addPolicyCommands } from './commands/policies.ts'
import { addPresetCommands } from './commands/presets.ts'
import { addRegistryCommands } from './commands/registries.ts'
import { addResourceGroupCommands } from './commands/resource-groups.ts'
import { addServerCommands } from './commands/servers.ts'
import { addSessionCommands } from './commands/session.ts'
import { addSettingsCommands } from './commands/settings.ts'
import { addSshKeypairCommands } from './commands/ssh-keypair.ts'
import { addSshCommands } from './commands/ssh.ts'
import { addManagerCommands } from './commands/managers.ts'
import { addSchedulingCommands } from './commands/scheduling.ts'
import { addUsageCommands } from './commands/usage.ts'
import { addUserCommands } from './commands/users.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { Interrupted } from './interrupt.ts'
import { describeFailure } from './output.ts'
import { allPrinted, isReaderGone, toleratePartingReaders } from './standard-streams.ts'
import { version } from './version.ts'

/**
 * The `berth` command. Every sub-command lives in `commands/`; this file turns outcomes into exit codes.
 *
 * @param json do not print errors of the command line itself here: they are reported as JSON like other failures
 */
function createProgram(json: boolean): Command {
  const program = new Command('berth')
    .enablePositionalOptions()
    .description('Console for GPU container sessions: servers of this computer, and sessions on any of them.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(run with --help for the options)')
    .configureOutput(json ? { writeErr: () => undefined } : {})
  addServerCommands(program)
  addDoctorCommand(program)
  addBackupCommands(program)
  addLoginCommands(program)
  addSessionCommands(program)
  addImageCommands(program)
  addAppCommand(program)
  addSshCommands(program)
  addAgentCommands(program)
  addDomainCommands(program)
  addGroupCommands(program)
  addUserCommands(program)
  addResourceGroupCommands(program)
  addAdminImageCommands(program)
  addRegistryCommands(program)
  addPolicyCommands(program)
  addPresetCommands(program)
  addUsageCommands(program)
  addSchedulingCommands(program)
  addManagerCommands(program)
  addKeypairCommands(program)
  addSshKeypairCommands(program)
  addAuditCommands(program)
  addAccountCommands(program)
  addSettingsCommands(program)
  return program
}

/** Runs a command and ends this process with its exit code. */
export async function main(argv: readonly string[]): Promise<never> {
  toleratePartingReaders()
  sayFormErrorsPlainly()
  const code = await runCommand(argv)
  await allPrinted()
  process.exit(code)
}

async function runCommand(argv: readonly string[]): Promise<number> {
  const json = argv.includes('--json')
  try {
    await createProgram(json).parseAsync([...argv], { from: 'user' })
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok
    const code = exitCodeOf(error)
    if (code !== EXIT.ok && !isTold(error, json)) process.stderr.write(`${describeFailure(error, json)}\n`)
    return code
  }
}

/**
 * Whether the user knows of the error already: they interrupted the command, or commander has printed its own text (not with
 * JSON).
 */
function isTold(error: unknown, json: boolean): boolean {
  if (error instanceof CommanderError) return !json
  return error instanceof Interrupted || (error instanceof Error && error.name === 'AbortError')
}

if (import.meta.main) await main(process.argv.slice(2))
