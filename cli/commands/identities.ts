import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type OwnIdentity, AppError } from '#manager/contract'
import { agrees, plain, requireTerminal } from '../agrees.ts'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { chosenProvider, hasBrowser, type SsoProof, visitProvider } from './sso-sign-in.ts'

interface ProofFlags {
  readonly passwordStdin?: boolean
  readonly totp?: string
  readonly json?: boolean
}

type LinkFlags = ProofFlags & { readonly browser: boolean; readonly user?: string; readonly yes?: boolean }
const UNASKED = 'If you sign in at the provider yourself, add --yes.'

/** Adds `berth identity`: your own accounts at sign-in providers. */
export function addIdentityCommands(program: Command): void {
  const identity = program.command('identity').description('Your own accounts at sign-in providers.')
  const withProof = (command: Command) =>
    command
      .option('--password-stdin', 'read your password from standard input')
      .option('--totp <code>', 'code of your second factor, if you have one')
      .option('--json', 'print JSON')

  identity
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: ProofFlags) => {
      const { api } = await connect()
      const { items } = await api.listOwnIdentities()
      createOutput(json).data(items, () => identityTable(items))
    })

  withProof(
    identity
      .command('link [provider]')
      .description(
        'Link your account at a provider, in a browser or with --user. You can sign in with it from then on.',
      )
      .option('--user <name>', 'at a directory: your name there; its password comes after your own')
      .option('--no-browser', 'print an address for a browser anywhere, which then shows a code to type')
      .option('--yes', 'do not ask: whoever signs in at the provider is you'),
  ).action(async (given: string | undefined, { browser, yes = false, json = false, ...flags }: LinkFlags) => {
    if (!yes) requireTerminal(UNASKED)
    const { api, endpoint } = await connect()
    const { id: provider, name, kind } = await chosenProvider(api, given)
    const output = createOutput(json)
    // Somebody else may have signed in at the provider in that browser: the account would be a way in for them.
    const finish = async (body: SsoProof) => {
      const found = await api.checkLinking({ body })
      output.note(`Account at ${plain(found.provider)}: ${plain(found.email ?? found.subject)}`)
      if (yes || (await agrees('Is this your account, to sign in with from now on?', UNASKED))) {
        return api.finishLinking({ body })
      }
      throw new AppError('forbidden', { why: 'Nothing was linked.' })
    }
    if (kind === 'ldap') {
      const { user: username } = flags
      if (username === undefined) {
        throw new AppError('bad_request', {
          why: `${name} takes a name and a password. Give the name with --user NAME.`,
        })
      }
      const { directoryPassword, ...proof } = await proofsOf(flags, name)
      const body = { provider, username, directoryPassword, ...proof }
      const { secret, code } = await api.proveLinking({ body })
      const linked = await finish({ secret, code })
      output.data(linked, () => linkedLine(linked))
      return
    }
    const proof = await proofOf(flags)
    const linked = await visitProvider(
      { start: to => api.startLinking({ body: { provider, return: to, ...proof } }), finish },
      { endpoint, browserHere: browser && hasBrowser() },
      text => output.note(text),
    )
    output.data(linked, () => linkedLine(linked))
  })

  withProof(
    identity
      .command('unlink <account>')
      .description('Unlink an account: its address, or its subject as in `ls --json`.'),
  ).action(async (account: string, { json = false, ...flags }: ProofFlags) => {
    const { api } = await connect()
    const { items } = await api.listOwnIdentities()
    const [found, other] = items.filter(({ email, subject }) => subject === account || email === account)
    if (!found) throw new AppError('identity_not_found', { account })
    if (other) throw new AppError('bad_request', { why: 'Two accounts have this address. Give the subject instead.' })
    const { issuer, subject, email } = found
    await api.unlinkIdentity({ body: { issuer, subject, ...(await proofOf(flags)) } })
    createOutput(json).data({ issuer, subject }, () => `Unlinked ${email}.`)
  })
}

const linkedLine = ({ email, provider, issuer }: OwnIdentity) => `Linked ${email} (${provider ?? issuer}).`

/** Both passwords come from prompts, or are the first two lines of standard input. */
async function proofsOf({ passwordStdin, totp }: ProofFlags, name: string) {
  const [password = '', directoryPassword = ''] = passwordStdin
    ? (await readStandardInput()).split(/\r?\n/)
    : [await promptSecret('Password: '), await promptSecret(`Password at ${plain(name)}: `)]
  return { password, directoryPassword, ...defined({ totp }) }
}

/** The password comes from a prompt, or is the first line of standard input. */
async function proofOf({ passwordStdin, totp }: ProofFlags): Promise<{ password: string; totp?: string }> {
  const password = passwordStdin ? ((await readStandardInput()).split('\n')[0] ?? '') : await promptSecret('Password: ')
  return { password, ...defined({ totp }) }
}

const identityTable = (items: readonly OwnIdentity[]) =>
  table(
    ['ACCOUNT', 'PROVIDER', 'LINKED', 'LAST USED'],
    items.map(({ email, provider, issuer, createdAt, lastUsedAt }) => [
      email,
      provider ?? issuer,
      createdAt,
      lastUsedAt,
    ]),
  )
