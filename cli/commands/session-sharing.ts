import { type Command, Option } from 'commander'
import { AppError, SessionPermission, type SessionShare } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { findSession } from './find-session.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth session share|members|unshare|leave …`: sessions that others view or use. */
export function addSessionSharingCommands(session: Command): void {
  session
    .command('share <session> <email>')
    .description(
      'Let a member of the session’s project see it and its log, or also use it: apps, terminals, SSH, files. Again with another permission: change what the member may do.',
    )
    .addOption(
      new Option('--permission <permission>', 'view: see it; use: act in it as you do')
        .choices(SessionPermission.options)
        .default('view' satisfies SessionPermission),
    )
    .option('--json', 'print JSON')
    .action(
      async (
        reference: string,
        email: string,
        { permission, json = false }: JsonFlag & { permission: SessionPermission },
      ) => {
        const connection = await connect()
        const { id } = await findSession(connection, reference)
        const share = await connection.api.shareSession({ params: { id }, body: { email, permission } })
        createOutput(json).data(share, () => shareTable([share]))
      },
    )

  session
    .command('members <session>')
    .description('Members of the project with whom a session is shared.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      const { items } = await connection.api.listSessionShares({ params: { id } })
      createOutput(json).data(items, () => shareTable(items))
    })

  session
    .command('unshare <session> <email>')
    .description('Withdraw the access of a member. Their terminals and connections to the session end at once.')
    .action(async (reference: string, email: string) => {
      const connection = await connect()
      const { id, name } = await findSession(connection, reference)
      const { items } = await connection.api.listSessionShares({ params: { id } })
      const share = items.find(one => one.email.toLowerCase() === email.toLowerCase())
      if (!share) {
        throw new AppError('session_member_not_found', { email, why: `"${name}" is not shared with ${email}.` })
      }
      await connection.api.unshareSession({ params: { id, userId: share.userId } })
    })

  session
    .command('leave <session>')
    .description('Give up a session that somebody shares with you.')
    .action(async (reference: string) => {
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      await connection.api.unshareSession({ params: { id, userId: await connection.userId() } })
    })
}

export const shareTable = (items: readonly SessionShare[]): string =>
  table(
    ['USER', 'PERMISSION', 'SINCE'],
    items.map(({ email, permission, sharedAt }) => [email, permission, sharedAt]),
  )
