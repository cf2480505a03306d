import {
  type Access,
  AppError,
  because,
  LAUNCHED_BY_TOKEN,
  type Role,
  type SessionPermission,
  type TokenScope,
  type UserId,
} from '#manager/contract'
import { type Credentials } from '../store/identity/credential.ts'
import { type VisibleAccounts } from '../store/identity/users.ts'

/** The authenticated sender of a request. */
export interface Caller extends Credentials {
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly domain: string
  /** The sign-in of the request; grants created with it end with it. Null for a signed request. */
  readonly loginId: string | null
  /**
   * Access key of a signed request, or of a sign-in made with a keypair: its limits apply, records contain it, and everything opened with
   * it ends with it. Null for other sign-ins.
   */
  readonly keypair: string | null
  /** Scopes of the access token of the request, whose id is `loginId`; null: the request has no such token. */
  readonly scopes: readonly TokenScope[] | null
  /** Name of the access token of the request, for the audit log; null or left out: it has none, or changes nothing. */
  readonly tokenName?: string | null
}

/** How a route is protected. */
export interface RouteGuard {
  readonly access: Access
  readonly byPerson?: boolean | undefined
  /** Scope that an access token needs; without it, tokens are refused. */
  readonly scope?: TokenScope | undefined
}

/**
 * Checks whether this caller may use a route. Deny by default: an access that is not listed here is refused. @throws AppError
 * `not_signed_in`, `forbidden`
 */
export function authorizeRoute({ access, byPerson = false, scope }: RouteGuard, caller: Caller | null): void {
  if (access === 'none') return
  if (!caller) throw new AppError('not_signed_in')
  requireScope(caller, scope)
  if (byPerson) requirePerson(caller)
  if (access === 'console') throw new AppError('forbidden', because('only_console'))
  if (access === 'user') return
  if (isSuperadmin(caller)) return
  if (access === 'domain_admin') {
    if (caller.role === 'domain_admin') return
    throw new AppError('forbidden', because('only_admin'))
  }
  throw new AppError('forbidden', because('only_superadmin'))
}

/**
 * Refuses an access token without this scope.
 *
 * @param scope undefined: nothing that tokens may do
 * @throws AppError `forbidden`
 */
export function requireScope({ scopes }: Pick<Caller, 'scopes'>, scope: TokenScope | undefined): void {
  if (scopes === null || (scope !== undefined && scopes.includes(scope))) return
  throw new AppError('forbidden', scope === undefined ? because('not_by_token') : because('token_scope', { scope }))
}

/**
 * Refuses programs that sign with a keypair, and sign-ins made with a keypair. For actions that create a lasting way to sign in, or a role:
 * otherwise the thief of a keypair would keep access after the keypair is deactivated, despite the second factor of its owner. @throws
 * AppError `forbidden`
 */
export function requirePerson(
  { keypair }: Pick<Caller, 'keypair'>,
  cause: 'only_person_decides' | 'only_person_accepts' = 'only_person_decides',
): void {
  if (keypair !== null) throw new AppError('forbidden', because(cause))
}

/** Fields of a session that the rules read. A session stays in the domain in which it was launched. */
export interface Owned {
  readonly ownerId: UserId
  readonly domain: string
  /** Permissions that the owner gives to members of the session's project, by their ids. */
  readonly shares?: Readonly<Record<UserId, SessionPermission>> | null
  /** Access token that launched it; null: none. */
  readonly tokenId?: string | null
}

type Identity = Pick<Caller, 'userId' | 'role' | 'domain'>

/**
 * Whether the caller may end a session and decide about it: its owner, superadmins and admins of its domain may. Sharing a session never
 * gives this right.
 */
export function canManage(caller: Identity, { ownerId, domain }: Owned): boolean {
  return caller.userId === ownerId || administers(caller, domain)
}

/**
 * Whether the caller sees a session: callers who manage it do, and members with whom the owner shares it. For a thing that the caller may
 * not see, the answer is exactly that for a thing that does not exist (`session_not_found`, …), so that ids cannot be probed.
 */
export function canSee(caller: Identity, session: Owned): boolean {
  return canManage(caller, session) || sharedAs(caller, session) !== null
}

/**
 * Whether the caller may use the terminal, apps and keys of a session: only the owner and members whom the owner allows it, regardless of
 * role. An admin cannot act as another user to look inside: the admin asks the owner, or ends the session.
 */
export function canEnter(caller: Pick<Caller, 'userId'>, session: Pick<Owned, 'ownerId' | 'shares'>): boolean {
  return caller.userId === session.ownerId || sharedAs(caller, session) === 'use'
}

/**
 * Whether the caller may read log and start-up command of a session. They may hold what no administrator reads of a person (values of
 * variables, content of files), so administrators see them only with the leave of the owner, or if they launched the session and chose
 * the command.
 */
export function canReadOutput(caller: Identity & Pick<Caller, 'email'>, session: Owned & Output): boolean {
  const { ownerId, launchedBy, adminsMayRead } = session
  if (caller.userId === ownerId || sharedAs(caller, session) !== null) return true
  return canManage(caller, session) && (adminsMayRead || launchedBy === caller.email)
}

/** Fields that `canReadOutput` reads. */
interface Output {
  /** Address of the administrator who launched the session for its owner; null: the owner launched it. */
  readonly launchedBy: string | null
  readonly adminsMayRead: boolean
}

/** Access token of a request; null: it has none. */
export const tokenOf = ({ scopes, loginId }: Pick<Caller, 'scopes' | 'loginId'>): string | null =>
  scopes === null ? null : loginId

/** Access token of a request, as the audit log names it. */
export const tokenInLog = (caller: Pick<Caller, 'scopes' | 'loginId' | 'tokenName'>) => ({
  token: caller.tokenName ?? null,
  token_id: tokenOf(caller),
})

/** Whether the caller may change, enter and end a session for all that its access token says: only those that the token launched. */
export function isOfToken(caller: Pick<Caller, 'scopes' | 'loginId'>, { tokenId }: Owned): boolean {
  const token = tokenOf(caller)
  return token === null || tokenId === token
}

/**
 * Other chooser of the image, command and variables of a session: the address of an administrator, or an access token of its owner; null:
 * the caller chose them. Programs that hold a token read texts of strangers, so what they chose meets no dotfiles of the owner.
 */
export function otherLauncher(
  caller: Pick<Caller, 'scopes' | 'loginId'>,
  { launched_by, token_id }: { readonly launched_by: string | null; readonly token_id: string | null },
): string | null {
  if (launched_by !== null) return launched_by
  return token_id === null || token_id === tokenOf(caller) ? null : LAUNCHED_BY_TOKEN
}

/** Permission of the caller by sharing; null for an own session, and for one that is not shared with the caller. */
export function sharedAs(
  { userId }: Pick<Caller, 'userId'>,
  { ownerId, shares }: Pick<Owned, 'ownerId' | 'shares'>,
): SessionPermission | null {
  if (userId === ownerId || !shares || !Object.hasOwn(shares, userId)) return null
  return shares[userId] ?? null
}

/** Filter of lists: things of one owner, and all things in a domain. Undefined means everything. */
export interface Visible {
  readonly ownerId: UserId
  readonly domain?: string
}

export function visibleTo(caller: Caller): Visible | undefined {
  if (isSuperadmin(caller)) return undefined
  const { userId: ownerId, domain, role } = caller
  return role === 'domain_admin' ? { ownerId, domain } : { ownerId }
}

export function isSuperadmin(caller: Pick<Caller, 'role'>): boolean {
  return caller.role === 'superadmin'
}

/** Whether the caller may manage the things of this domain: its groups, and the sessions in it. */
export function administers(caller: Pick<Caller, 'role' | 'domain'>, domain: string): boolean {
  return isSuperadmin(caller) || (caller.role === 'domain_admin' && caller.domain === domain)
}

/** Fields of an account that the rules read. */
export interface Account {
  readonly id: UserId
  readonly role: Role
  readonly domain: string
}

/**
 * Whether the caller may see and manage this account and the keypairs of its user. An admin of a domain never manages a superadmin, not
 * even one of the same domain: a new password or a keypair would be a privilege escalation.
 */
export function managesAccount(caller: Caller, account: Account): boolean {
  return isSuperadmin(caller) || (administers(caller, account.domain) && account.role !== 'superadmin')
}

/** Filter of lists of accounts. */
export function visibleAccounts(caller: Caller): VisibleAccounts {
  return isSuperadmin(caller) ? {} : { domain: caller.domain, superadmins: false }
}

/** Whether the caller may see, change and delete this keypair of an account. */
export function canSeeKeypair(caller: Caller, owner: Account): boolean {
  return caller.userId === owner.id || managesAccount(caller, owner)
}

/** Only superadmins set limits: whoever may set them could give away all resources. @throws AppError `forbidden` */
export function requireMayGivePolicy(caller: Pick<Caller, 'role'>, policy: string | undefined): void {
  if (policy !== undefined && !isSuperadmin(caller)) throw new AppError('forbidden', because('only_superadmin_policy'))
}

/** Fields of an account that determine what its person administers. */
type Authority = Pick<Account, 'role' | 'domain'> & { readonly active: boolean }

/**
 * Checks the new role, domain and state of an account: an admin of a domain may assign roles up to their own, and only their own domain; a
 * superadmin may assign any. A program with a keypair may create users and deactivate accounts that it manages, but may not make or keep
 * anybody an administrator.
 *
 * @param before undefined for a new account
 * @throws AppError `forbidden`
 */
export function requireMayAssign(caller: Caller, after: Authority, before?: Authority): void {
  const { role, domain, active } = after
  const was = before ?? { role: 'user', domain, active: false }
  const comesBack = active && !was.active && role !== 'user'
  if (role !== was.role || domain !== was.domain || comesBack) requirePerson(caller)
  if (isSuperadmin(caller)) return
  if (!administers(caller, domain)) {
    throw new AppError('forbidden', because('only_superadmin_moves'))
  }
  if (role === 'superadmin') throw new AppError('forbidden', because('only_superadmin_promotes'))
}
