import { Command } from 'commander'
import { sayFormErrorsPlainly } from '#manager/contract'
import { usePins } from '#proxy/connect-app'
import { addAccountCommands } from './commands/accounts.ts'
import { addAgentCommands } from './commands/agents.ts'
import { addAppCommand } from './commands/app.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addRotateMasterKeyCommand } from './commands/rotate-master-key.ts'
import { addDomainCommands } from './commands/domains.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addSlurmEpilogCommand } from './commands/slurm-epilog.ts'
import { addDiagnosticsCommand } from './commands/diagnostics.ts'
import { addAdminImageCommands, addImageCommands } from './commands/images.ts'
import { addAccessTokenCommands } from './commands/access-tokens.ts'
import { addKeypairCommands } from './commands/keypairs.ts'
import { addExecCommand } from './commands/exec.ts'
import { addGpuCommands } from './commands/gpus.ts'
import { addLocalCommand } from './commands/local.ts'
import { addLoginCommands } from './commands/login.ts'
import { acceptOldWords } from './commands/old-words.ts'
import { addPolicyCommands } from './commands/policies.ts'
import { addFolderCommands } from './commands/folders.ts'
import { addPresetCommands } from './commands/presets.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addDotfileCommands } from './commands/dotfiles.ts'
import { addTemplateCommands } from './commands/templates.ts'
import { addQueueCommand } from './commands/queue.ts'
import { addRegistryCommands } from './commands/registries.ts'
import { addResourceGroupCommands } from './commands/resource-groups.ts'
import { addRunCommand } from './commands/run.ts'
import { addServerCommands } from './commands/servers.ts'
import { addSessionCommands } from './commands/session.ts'
import { addSettingsCommands } from './commands/settings.ts'
import { addScimTokenCommands } from './commands/scim-tokens.ts'
import { addSignInProviderCommands } from './commands/sign-in-providers.ts'
import { addSshKeypairCommands } from './commands/ssh-keypair.ts'
import { addSshCommands } from './commands/ssh.ts'
import { addTlsCommand } from './commands/tls.ts'
import { addManagerCommands, addVersionsCommand } from './commands/managers.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addMessageCommands } from './commands/messages.ts'
import { addSchedulingCommands } from './commands/scheduling.ts'
import { addUsageCommands } from './commands/usage.ts'
import { addServerBackupCommands } from './commands/server-backups.ts'
import { addUserCommands } from './commands/users.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import { readCertificates } from './config/certificates.ts'
import { optionHint } from './option-hint.ts'
import { endWith } from './outcome.ts'
import { version } from './version.ts'

/**
 * The `berth` command. Every sub-command lives in `commands/`; `outcome.ts` turns outcomes into exit codes.
 *
 * @param json do not print errors of the command line itself here: they are reported as JSON like other failures
 */
export function createProgram(json: boolean): Command {
  const program = new Command('berth')
    .enablePositionalOptions()
    .description('Console for GPU container sessions: servers of this computer, and sessions on any of them.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(run with --help for the options)')
    .configureOutput(json ? { writeErr: () => undefined } : {})
  addServerCommands(program)
  addDoctorCommand(program)
  addSlurmEpilogCommand(program)
  addBackupCommands(program)
  addRotateMasterKeyCommand(program)
  addLoginCommands(program)
  addLocalCommand(program)
  addSessionCommands(program)
  addImageCommands(program)
  addGpuCommands(program)
  addAppCommand(program)
  addSshCommands(program)
  addExecCommand(program)
  addRunCommand(program)
  addAgentCommands(program)
  addDomainCommands(program)
  addDiagnosticsCommand(program)
  addProjectCommands(program)
  addUserCommands(program)
  addResourceGroupCommands(program)
  addAdminImageCommands(program)
  addRegistryCommands(program)
  addPolicyCommands(program)
  addFolderCommands(program)
  addPresetCommands(program)
  addTemplateCommands(program)
  addDotfileCommands(program)
  addUsageCommands(program)
  addSchedulingCommands(program)
  addQueueCommand(program)
  addMessageCommands(program)
  addManagerCommands(program)
  addVersionsCommand(program)
  addTlsCommand(program)
  addServerBackupCommands(program)
  addKeypairCommands(program)
  addAccessTokenCommands(program)
  addMcpCommand(program)
  addSshKeypairCommands(program)
  addAuditCommands(program)
  addAccountCommands(program)
  addSettingsCommands(program)
  addScimTokenCommands(program)
  addSignInProviderCommands(program)
  addWebhookCommands(program)
  acceptOldWords(program)
  return program
}

/** Runs a command and ends this process with its exit code. */
export async function main(argv: readonly string[]): Promise<never> {
  usePins(readCertificates)
  sayFormErrorsPlainly()
  const json = argv.includes('--json')
  let command: Command | undefined
  const program = createProgram(json).hook('preAction', (_, called) => void (command = called))
  const hintFor = (error: unknown) => optionHint(error, command)
  return await endWith(() => program.parseAsync([...argv], { from: 'user' }), { json, hintFor })
}

if (import.meta.main) await main(process.argv.slice(2))
