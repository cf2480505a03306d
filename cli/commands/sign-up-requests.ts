import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, type SignUpRequest } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { everyPage } from './every-page.ts'

interface AcceptFlags {
  readonly domain?: string
  readonly project?: string[]
  readonly policy?: string
  readonly json?: boolean
}

/** Adds the commands for people who ask for an account. @param admin the command `berth admin` */
export function addSignUpRequestCommands(admin: Command): void {
  const signup = admin.command('signup').description('People who ask for an account: accept or decline them.')

  signup
    .command('ls')
    .description('List the requests that wait, oldest first.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const items = await waitingRequests(api)
      createOutput(json).data(items, () => requestTable(items))
    })

  signup
    .command('accept <request>')
    .description(
      'Make the account that a person (address or id of the request) asks for. Without mail, prints the link to pass on.',
    )
    .option('--domain <name>', 'domain of the account (default: that of the request)')
    .option('--project <name...>', 'projects of the account, by name or id (default: the project "default")')
    .option('--policy <name>', 'resource policy of the account (superadmins only)')
    .option('--json', 'print JSON')
    .action(async (request: string, { domain, project, policy, json = false }: AcceptFlags) => {
      const { api } = await connect()
      const body = { ...defined({ domain }), ...(project ? { groups: project } : {}) }
      const made = await api.acceptSignUpRequest({ params: { id: await findRequest(api, request) }, body })
      const { user, link } = made
      const output = createOutput(json)
      output.data(made, () => link?.url ?? `${user.email} has an account; the link to set a password was mailed.`)
      if (link && !json) output.note(`Pass this link on to ${user.email}: it sets the password, once, within 7 days.`)
      if (policy !== undefined) await api.assignResourcePolicy({ params: { name: policy }, body: { userId: user.id } })
    })

  signup
    .command('decline <request>')
    .description('Decline the request of a person (address or id of the request).')
    .option('--reason <text>', 'why; mailed to the person')
    .action(async (request: string, { reason }: { reason?: string }) => {
      const { api } = await connect()
      const body = defined({ reason })
      const { mailed } = await api.declineSignUpRequest({ params: { id: await findRequest(api, request) }, body })
      if (!mailed) createOutput(false).note('Mail is not set up, so the person was not told.')
    })
}

const waitingRequests = (api: ApiClient) => everyPage(page => api.listSignUpRequests({ query: page }))

/** Finds a waiting request by its id or address. @throws AppError `sign_up_request_not_found` */
async function findRequest(api: ApiClient, reference: string): Promise<string> {
  const wanted = reference.toLowerCase()
  const found = (await waitingRequests(api)).find(({ id, email }) => id === wanted || email === wanted)
  if (found) return found.id
  throw new AppError('sign_up_request_not_found', { why: `"${reference}" asks for no account.` })
}

const requestTable = (items: readonly SignUpRequest[]) =>
  table(
    ['ID', 'ADDRESS', 'CONFIRMED', 'NAME', 'DOMAIN', 'ASKED', 'NOTE'],
    items.map(one => [
      one.id,
      one.email,
      one.confirmed ? 'yes' : 'no',
      one.name,
      one.domain,
      one.createdAt,
      one.note.replaceAll(/\s+/g, ' '),
    ]),
  )
