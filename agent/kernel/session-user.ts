import { z } from 'zod'
import { AppError } from '#manager/contract'
import { type Account, canLogIn, type HostAccounts, type UidRange } from './host-accounts.ts'
import { type SessionUser } from '../docker/container-config.ts'

export const SESSION_ACCOUNT = 'berth-session'

/** Uids that systemd documents as unused, for hosts without `useradd`. @see https://systemd.io/UIDS-GIDS/ */
const UNUSED = { first: 60_706, last: 61_183 }
/** Uid of the first human account on most distributions, whether or not this host has it already. */
const FIRST_HUMAN = 1000

/** The user of this host's sessions, as the agent remembers it in DATA/agent/session-user.json. */
export const SessionUserRecord = z.object({
  uid: z.int().min(1),
  gid: z.int().min(1),
  /** Uids of the sessions that ran earlier with this data directory: some homes still belong to them. */
  earlier: z.array(z.int().min(1)),
})
export type SessionUserRecord = z.infer<typeof SessionUserRecord>

export interface ChooseOptions {
  readonly accounts: HostAccounts
  readonly recorded: SessionUserRecord | undefined
  /** Owner of the directory of homes; an administrator may have given it to the user of a shared storage. */
  readonly owner: SessionUser
}

/**
 * Chooses the uid and gid of all sessions for an agent that runs as root: an account without login, so that no user of the host owns the
 * files and processes of sessions. In order: the remembered uid, the owner of the directory of homes, the system account `berth-session`
 * (created once), a free uid. A uid that has since become a login account is given up.
 *
 * @throws `config_invalid` if the host has an account `berth-session` with a login shell
 */
export async function chooseSessionUser({ accounts, recorded, owner }: ChooseOptions): Promise<SessionUserRecord> {
  const ranges = await accounts.subordinateRanges()
  const isFit = async ({ uid }: SessionUser) => {
    if (uid === 0 || uid === FIRST_HUMAN || isSubordinate(uid, ranges)) return false
    const account = await accounts.find(uid)
    return account === undefined || !canLogIn(account)
  }
  const before = [...(recorded?.earlier ?? []), ...(recorded ? [recorded.uid] : []), owner.uid]
  const record = ({ uid, gid }: SessionUser): SessionUserRecord => ({
    uid,
    gid,
    earlier: [...new Set(before)].filter(earlier => earlier !== 0 && earlier !== uid),
  })
  if (recorded && (await isFit(recorded))) return record(recorded)
  if (owner.uid !== 0 && (await isFit(owner))) return record({ uid: owner.uid, gid: owner.gid || owner.uid })
  const account = await systemAccount(accounts)
  if (account && (await isFit(account))) return record(account)
  return record(await freeUser(accounts, ranges))
}

async function systemAccount(accounts: HostAccounts): Promise<Account | undefined> {
  let account = await accounts.find(SESSION_ACCOUNT)
  if (!account) {
    await accounts.createSystemAccount(SESSION_ACCOUNT)
    account = await accounts.find(SESSION_ACCOUNT)
  }
  if (account && canLogIn(account)) {
    throw new AppError('config_invalid', {
      why:
        `The account ${SESSION_ACCOUNT} of this host has the login shell ${account.shell || '/bin/sh'}, and sessions must ` +
        `run as a user without a login. Change the shell: usermod --shell /usr/sbin/nologin ${SESSION_ACCOUNT}.`,
    })
  }
  return account
}

async function freeUser(accounts: HostAccounts, ranges: readonly UidRange[]): Promise<SessionUser> {
  for (let uid = UNUSED.last; uid >= UNUSED.first; uid--) {
    if (!isSubordinate(uid, ranges) && !(await accounts.find(uid))) return { uid, gid: uid }
  }
  throw new AppError('config_invalid', {
    why:
      `Sessions need a user of their own. The account ${SESSION_ACCOUNT} could not be created (is useradd installed?) and ` +
      `no uid from ${UNUSED.first} to ${UNUSED.last} is free. Create a system account of that name.`,
  })
}

function isSubordinate(uid: number, ranges: readonly UidRange[]): boolean {
  return ranges.some(({ first, count }) => uid >= first && uid < first + count)
}
