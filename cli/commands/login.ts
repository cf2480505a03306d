import { hostname } from 'node:os'
import { type Command } from 'commander'
import { AppError } from '#manager/contract'
import { clientOf, connect } from '../config/connect.ts'
import { removeSignIn, writeSignIn } from '../config/sign-in.ts'
import { createOutput } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'

interface LoginFlags {
  endpoint?: string
  email: string
  passwordStdin?: boolean
  json?: boolean
}

/** `login`, `logout` and `whoami`. The password comes from a prompt or standard input, never from the command line. */
export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .description('Sign in to a Berth.')
    .option('--endpoint <url>', 'address of the console or the manager (BERTH_ENDPOINT)')
    .requiredOption('--email <address>', 'who you are')
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'print JSON')
    .action(async (flags: LoginFlags) => {
      const endpoint = endpointOf(flags.endpoint ?? process.env.BERTH_ENDPOINT)
      const password = flags.passwordStdin
        ? await readStandardInput()
        : await promptSecret(`Password of ${flags.email}: `)
      const body = { email: flags.email, password, kind: 'token', label: `berth CLI on ${hostname()}` } as const
      const { user, token, expiresAt } = await clientOf(endpoint).login({ body })
      if (!token) throw new AppError('internal', { why: 'The manager answered without a token.' })
      await writeSignIn({ endpoint, userId: user.id, email: user.email, token, expiresAt })
      createOutput(flags.json ?? false).data(
        { endpoint, user, expiresAt },
        () => `Signed in to ${endpoint} as ${user.email}.`,
      )
    })

  program
    .command('logout')
    .description('End the sign-in here and on the server.')
    .action(async () => {
      const { api } = await connect()
      await api.logout().finally(() => removeSignIn())
    })

  program
    .command('whoami')
    .description('Who is signed in, and where.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api, signIn } = await connect()
      const { user } = await api.me()
      createOutput(json).data(
        { endpoint: signIn.endpoint, user },
        () => `${user.email} (${user.role}) at ${signIn.endpoint}`,
      )
    })
}

function endpointOf(text: string | undefined): string {
  if (!text) throw new AppError('bad_request', { why: 'Name the Berth with --endpoint URL or BERTH_ENDPOINT.' })
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new AppError('bad_request', { why: `"${text}" is no http(s) address.` })
  return url.origin
}
