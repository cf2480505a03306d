import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Invitation, LINK_PURPOSES, type LinkPurpose } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { findUserId } from './find-user.ts'
import { addIdentityCommands } from './identities.ts'
import { addSignUpRequestCommands } from './sign-up-requests.ts'

/** Adds the commands for invitations and links that an admin hands out, and for the user's own second factor. */
export function addAccountCommands(program: Command): void {
  const admin = adminOf(program)
  addInvitationCommands(admin)
  addSignUpRequestCommands(admin)
  addAccountAdminCommands(admin)
  addTotpCommands(program)
  addIdentityCommands(program)
}

function addInvitationCommands(admin: Command): void {
  const invitation = admin.command('invitation').description('Invitations to sign up, each for one person.')

  invitation
    .command('create')
    .description('Make an invitation. The link is shown only this once.')
    .option('--domain <name>', 'domain of the new account (default: your own)')
    .option('--note <text>', 'who the invitation is for')
    .option('--days <number>', 'how many days the invitation is valid (default: 7)', parseDays)
    .option('--json', 'print JSON')
    .action(async ({ json = false, ...body }: { domain?: string; note?: string; days?: number; json?: boolean }) => {
      const { api } = await connect()
      const made = await api.createInvitation({ body })
      const output = createOutput(json)
      for (const { message } of made.notices) output.note(`Warning: ${message}`)
      output.data(made, () => made.url)
    })

  invitation
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const items = await everyPage(page => api.listInvitations({ query: page }))
      createOutput(json).data(items, () => invitationTable(items))
    })

  invitation
    .command('revoke <id>')
    .description('Withdraw an invitation that was not used.')
    .action(async (id: string) => {
      const { api } = await connect()
      await api.revokeInvitation({ params: { id } })
    })
}

interface LinkFlags {
  purpose?: LinkPurpose
  inHand?: boolean
  json?: boolean
}

function addAccountAdminCommands(admin: Command): void {
  admin
    .command('account-link <user>')
    .description(
      'Make a one-time link for a user (address or id). It is mailed to the user; without mail it is shown, only this once, to pass on.',
    )
    .option('--in-hand', 'show the link instead of mailing it, for a user who has lost the mailbox (superadmins only)')
    .addOption(new Option('--purpose <what>', 'confirm the address, or set a new password').choices(LINK_PURPOSES))
    .option('--json', 'print JSON')
    .action(async (user: string, { purpose = 'reset', inHand = false, json = false }: LinkFlags) => {
      const { api } = await connect()
      const id = await findUserId(api, user)
      const link = await api.createAccountLink({ params: { id }, body: { purpose, inHand } })
      createOutput(json).data(link, () => link.url ?? `mailed to ${user}`)
    })

  admin
    .command('reset-totp <user>')
    .description('Switch off the second factor of a user (address or id) who lost the authenticator app.')
    .action(async (user: string) => {
      const { api } = await connect()
      await api.resetTotp({ params: { id: await findUserId(api, user) } })
    })
}

function addTotpCommands(program: Command): void {
  const totp = program.command('totp').description('Your own second factor: codes from an authenticator app.')
  const withPassword = (command: Command) =>
    command
      .option('--password-stdin', 'read the password from standard input, and the code from its second line')
      .option('--json', 'print JSON')

  totp
    .command('status')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const status = await api.totpStatus()
      createOutput(json).data(status, () =>
        status.enabled ? `On. ${status.recoveryCodesLeft} recovery codes are left.` : 'Off.',
      )
    })

  withPassword(
    totp.command('enrol').description('Make a secret for an authenticator app. Confirm it with a code afterwards.'),
  ).action(async ({ passwordStdin, json = false }: SecretFlags) => {
    const { api } = await connect()
    const [password = ''] = passwordStdin ? await stdinLines() : [await promptSecret('Password: ')]
    const enrolment = await api.enrolTotp({ body: { password } })
    createOutput(json).data(
      enrolment,
      () => `${enrolment.uri}\n\nSecret to type in: ${enrolment.secret}\nThen: berth totp confirm CODE`,
    )
  })

  totp
    .command('confirm <code>')
    .description('Switch the second factor on with a code from the app, and print the recovery codes.')
    .option('--json', 'print JSON')
    .action(async (code: string, { json = false }: { json?: boolean }) => {
      const { api } = await connect()
      printCodes(json, (await api.confirmTotp({ body: { code } })).codes)
    })

  withPassword(totp.command('recovery-codes').description('Replace all recovery codes.')).action(
    async ({ json = false, ...flags }: SecretFlags) => {
      const { api } = await connect()
      printCodes(json, (await api.renewRecoveryCodes({ body: await readProof(flags) })).codes)
    },
  )

  withPassword(totp.command('disable').description('Switch the second factor off.')).action(
    async (flags: SecretFlags) => {
      const { api } = await connect()
      await api.disableTotp({ body: await readProof(flags) })
    },
  )
}

interface SecretFlags {
  readonly passwordStdin?: boolean
  readonly json?: boolean
}

async function readProof({ passwordStdin }: SecretFlags): Promise<{ password: string; code: string }> {
  if (passwordStdin) {
    const [password = '', code = ''] = await stdinLines()
    return { password, code }
  }
  return { password: await promptSecret('Password: '), code: await promptSecret('Code from your authenticator app: ') }
}

const stdinLines = async () => (await readStandardInput()).split(/\r?\n/)

function printCodes(json: boolean, codes: readonly string[]): void {
  const output = createOutput(json)
  output.data({ codes }, () => codes.join('\n'))
  if (!json)
    output.note('Keep these codes apart from your phone. Each signs you in once in place of a code from the app.')
}

function parseDays(text: string): number {
  const days = Number(text)
  if (Number.isInteger(days) && days >= 1 && days <= 90) return days
  throw new InvalidArgumentError('The value must be a whole number from 1 to 90.')
}

const invitationTable = (items: readonly Invitation[]) =>
  table(
    ['ID', 'STATUS', 'DOMAIN', 'EXPIRES', 'MADE BY', 'NOTE'],
    items.map(one => [one.id, one.status, one.domain, one.expiresAt, one.createdBy ?? '-', one.note]),
  )
