import { type ApiClient, type DirectoryChange, type RouteReply, type SignInProviderChange } from '#manager/contract'
import { type DepartureTimings } from '../../../manager/sso/directory/departures.ts'
import { startTestManager, testLog, type TestManager } from '../../fixtures/manager.ts'
import { BASE, type DirectoryEntry, type Slapd, startSlapd } from '../../fixtures/slapd.ts'

export const DIRECTORY = 'lab'

export interface LdapWorld extends AsyncDisposable {
  readonly manager: TestManager
  readonly admin: ApiClient
  readonly slapd: Slapd
  /** Warnings of the manager until now. */
  warnings(): readonly string[]
  /** Sets the provider to these settings, and to defaults for what is left out. */
  configure(settings?: SignInProviderChange, directory?: DirectoryChange): Promise<void>
  /** Adds a person to the directory whom Berth does not know. */
  person(
    more?: Partial<DirectoryEntry>,
  ): Promise<Required<Pick<DirectoryEntry, 'uid' | 'password' | 'mail'>> & { dn: string }>
  signIn(person: Pick<DirectoryEntry, 'uid' | 'password'>, more?: { totp?: string }): Promise<RouteReply<'finishSso'>>
}

let people = 0

/** A manager with a real directory, `lab`. */
export async function startLdapWorld(departures: DepartureTimings = {}): Promise<LdapWorld> {
  await using stack = new AsyncDisposableStack()
  const warnings: string[] = []
  const log = { ...testLog(), warn: (_: object, message: string) => void warnings.push(message) }
  const [slapd, manager] = await Promise.all([startSlapd(), startTestManager({ timings: { departures }, log })])
  stack.use(slapd)
  stack.use(manager)
  const { api: admin } = await manager.signIn()
  const defaults: DirectoryChange = {
    urls: [slapd.ldaps],
    startTls: false,
    caCertificates: slapd.ca,
    bindDn: slapd.bindDn,
    directBind: null,
    base: BASE,
    userFilter: '(uid={username})',
    idAttribute: 'entryUUID',
    groups: 'none',
    groupBase: null,
    groupFilter: '(member={dn})',
  }
  await admin.createSignInProvider({
    body: {
      id: DIRECTORY,
      kind: 'ldap',
      name: 'The lab',
      directory: { urls: [slapd.ldaps], base: BASE, bindDn: slapd.bindDn, caCertificates: slapd.ca },
      clientSecret: slapd.bindPassword,
    },
  })
  const anybody = manager.api()
  const opened = stack.move()
  return {
    manager,
    admin,
    slapd,
    warnings: () => warnings,
    async configure(settings = {}, directory = {}) {
      const body = {
        active: true,
        trustEmail: true,
        emailDomains: [],
        createAccounts: true,
        linkByEmail: false,
        domain: 'default',
        mapping: [],
        clientSecret: slapd.bindPassword,
        ...settings,
        directory: { ...defaults, ...directory },
      }
      await admin.updateSignInProvider({ params: { id: DIRECTORY }, body })
    },
    async person(more = {}) {
      people += 1
      const uid = `person-${people}`
      const entry = { uid, password: `Secret-of-${uid}`, mail: `${uid}@example.org`, name: `Person ${people}`, ...more }
      return { ...entry, dn: await slapd.addPerson(entry) }
    },
    async signIn({ uid, password }, more = {}) {
      const proved = await anybody.proveAtDirectory({ body: { provider: DIRECTORY, username: uid, password } })
      const { secret, code } = proved
      return anybody.finishSso({ body: { secret, code, kind: 'token', ...more } })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
