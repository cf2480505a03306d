import {
  AndFilter,
  type Client,
  type Entry,
  EqualityFilter,
  type Filter,
  FilterParser,
  InvalidCredentialsError,
  OrFilter,
  ResultCodeError,
  type SearchOptions,
} from 'ldapts'
import {
  AppError,
  because,
  type DirectoryCheck,
  type DirectoryPerson,
  type DirectorySettings,
  type SignInProviderSettings,
} from '#manager/contract'
import { type z } from 'zod'
import { type DirectoryConnection, visitDirectory } from './connection.ts'
import {
  describeEntry,
  groupsOfEntry,
  isDisabled,
  MOST_GROUPS,
  STATE_ATTRIBUTES,
  subjectOf,
  valueOfSubject,
} from './entry.ts'
import { filled, inFilter, inName } from './escape.ts'
import { DirectoryAnswer, directoryFault, type Question } from './faults.ts'

/** Time limit that the server is asked to keep, in seconds. */
const SEARCH_SECONDS = 6
/** LDAP_MATCHING_RULE_IN_CHAIN of Active Directory, which follows members of members. */
const IN_CHAIN = '1.2.840.113556.1.4.1941'
/** Identifiers in one search. */
const AT_ONCE = 50
/**
 * Codes that Active Directory adds to "invalid credentials" if the password was right: account disabled, expired; password expired, to be changed.
 */
const SUB_CODES = new Map([
  ['533', 'directory_disabled'],
  ['701', 'directory_disabled'],
  ['532', 'directory_password_over'],
  ['773', 'directory_password_over'],
] as const)

export interface DirectoryAccess {
  readonly settings: SignInProviderSettings & { readonly directory: DirectorySettings }
  /** Password of `bindDn`; null with `directBind`. */
  readonly password: string | null
}

export interface DirectoryCredentials {
  readonly username: string
  readonly password: string
}

/**
 * Asks LDAP directories who somebody is.
 *
 * Threat model: the directory is trusted to say who somebody is, and is configured by superadmins only. Names come from strangers: they are
 * escaped for filters (RFC 4515) and distinguished names (RFC 4514), and a name that finds two people signs in nobody. An empty password
 * would be a bind without authentication, which succeeds (RFC 4513, section 5.1.2): it is never sent. With `directBind` the name that binds
 * and the name that is searched may belong to two people (userPrincipalName and sAMAccountName): the found entry is bound with the password
 * too. Passwords go to the directory only, over TLS unless it is on this computer, and are neither logged nor stored; errors of the library
 * do not contain them.
 */
export interface DirectoryClient {
  /**
   * @returns undefined for an unknown name or a wrong password
   * @throws AppError `sso_denied` (switched off, password expired), `sso_provider_unreachable`, `sso_provider_wrong`
   */
  prove(access: DirectoryAccess, credentials: DirectoryCredentials): Promise<DirectoryPerson | undefined>
  /** Connects and binds. @throws AppError as `prove` */
  check(access: DirectoryAccess): Promise<z.infer<typeof DirectoryCheck>>
  /** Needs an account that searches. @returns undefined for an unknown name @throws AppError as `prove`, `bad_request` */
  lookUp(access: DirectoryAccess, username: string): Promise<DirectoryPerson | undefined>
  /**
   * Finds those of these people whom the directory still has, and whether their accounts there are switched on. Needs an account that searches.
   *
   * @throws AppError as `prove`; never returns a part
   */
  present(access: DirectoryAccess, subjects: readonly string[]): Promise<ReadonlyMap<string, 'on' | 'off'>>
}

export function createDirectoryClient(): DirectoryClient {
  const visit = async <T>(
    { directory }: DirectoryAccess['settings'],
    ask: (connection: DirectoryConnection) => Promise<T>,
  ): Promise<T> => {
    try {
      return await visitDirectory(directory, ask)
    } catch (error) {
      throw error instanceof AppError ? error : directoryFault(error, directory)
    }
  }

  async function bindToSearch({ client }: DirectoryConnection, { settings, password }: DirectoryAccess) {
    const { bindDn } = settings.directory
    if (bindDn === null || !password) throw new AppError('bad_request', because('directory_needs_account'))
    await answered('bind', () => client.bind(bindDn, password))
  }

  return {
    async prove(access, { username, password }) {
      const { settings } = access
      const { directory } = settings
      if (password === '' || username.trim() === '') return undefined
      return visit(settings, async connection => {
        const { client } = connection
        const { directBind } = directory
        if (directBind === null) await bindToSearch(connection, access)
        else if (!(await isBound(client, directName(directBind, username), password))) return undefined
        const entry = await findOne(client, directory, username)
        if (!entry) return undefined
        if (!(await isBound(client, entry.dn, password))) return undefined
        if (isDisabled(entry)) throw new AppError('sso_denied', because('directory_disabled'))
        if (directBind === null) await bindToSearch(connection, access)
        return describe(client, entry, settings, username)
      })
    },

    check: access =>
      visit(access.settings, async connection => {
        const { client, server, encryption, skipped } = connection
        const { directory } = access.settings
        if (directory.directBind === null) {
          await bindToSearch(connection, access)
          await answered('base', () => search(client, directory.base, { scope: 'base', attributes: ['1.1'] }))
        } else {
          // Every server answers this question without a bind. RFC 4512, section 5.1
          await answered('base', () => search(client, '', { scope: 'base', attributes: ['1.1'] }))
        }
        return { kind: 'ldap', server, encryption, boundAs: directory.bindDn, skipped: [...skipped] }
      }),

    lookUp: (access, username) =>
      visit(access.settings, async connection => {
        const { client } = connection
        await bindToSearch(connection, access)
        const entry = await findOne(client, access.settings.directory, username)
        return entry && describe(client, entry, access.settings, username)
      }),

    present: (access, subjects) =>
      visit(access.settings, async connection => {
        const { directory } = access.settings
        await bindToSearch(connection, access)
        const found = new Map<string, 'on' | 'off'>()
        for (let from = 0; from < subjects.length; from += AT_ONCE) {
          const filter = filterOfSubjects(directory, subjects.slice(from, from + AT_ONCE))
          if (!filter) continue
          const attributes = [directory.idAttribute, ...STATE_ATTRIBUTES]
          const entries = await answered('filter', () =>
            search(connection.client, directory.base, { filter, attributes, ...bytesOf(directory) }),
          )
          for (const entry of entries) {
            const subject = subjectOf(entry, directory)
            if (subject !== null) found.set(subject, isDisabled(entry) ? 'off' : 'on')
          }
        }
        return found
      }),
  }
}

const bytesOf = ({ idAttribute }: DirectorySettings) => ({ explicitBufferAttributes: [idAttribute] })

const directName = (template: string, username: string) =>
  filled(template, { username }, template.includes('=') ? inName : text => text)

async function search(client: Client, base: string, options: SearchOptions): Promise<Entry[]> {
  const limits = { timeLimit: SEARCH_SECONDS, sizeLimit: MOST_GROUPS, derefAliases: 'never' } as const
  return (await client.search(base, { scope: 'sub', ...limits, ...options })).searchEntries
}

/** Throws what the directory answers together with the question. Errors of the connection stay as they are. */
async function answered<T>(question: Question, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof ResultCodeError ? new DirectoryAnswer(question, error) : error
  }
}

/** @throws AppError `sso_denied` if the password is right, and the directory lets nobody in with it */
async function isBound(client: Client, name: string, password: string): Promise<boolean> {
  try {
    await answered('bind', () => client.bind(name, password))
    return true
  } catch (error) {
    const cause = error instanceof DirectoryAnswer ? error.cause : undefined
    // Wrong password; a name that is none (invalidDNSyntax); no such entry; an entry without a password. RFC 4511, section 4.1.9
    if (cause instanceof InvalidCredentialsError) {
      const code = SUB_CODES.get((/\bdata ([0-9a-f]+)/i.exec(cause.message)?.[1] ?? '') as '533')
      if (code) throw new AppError('sso_denied', because(code), { cause: error })
      return false
    }
    if (cause instanceof ResultCodeError && [32, 34, 48].includes(cause.code)) return false
    throw error
  }
}

async function findOne(client: Client, directory: DirectorySettings, username: string): Promise<Entry | undefined> {
  const { base, userFilter, idAttribute, mailAttribute, nameAttribute } = directory
  const filter = parsed('filter', filled(userFilter, { username }, inFilter))
  const attributes = [idAttribute, mailAttribute, nameAttribute, 'memberOf', ...STATE_ATTRIBUTES]
  const [entry, ...others] = await answered('filter', () =>
    search(client, base, { filter, attributes, sizeLimit: 2, ...bytesOf(directory) }),
  )
  if (others.length > 0) throw new AppError('sso_provider_wrong', because('directory_several', { filter: userFilter }))
  return entry
}

async function describe(
  client: Client,
  entry: Entry,
  settings: DirectoryAccess['settings'],
  username: string,
): Promise<DirectoryPerson> {
  const { directory } = settings
  const subject = subjectOf(entry, directory)
  if (subject === null) {
    throw new AppError('sso_provider_wrong', because('directory_no_id', { attribute: directory.idAttribute }))
  }
  return describeEntry(entry, subject, settings, await groupsOf(client, entry, directory, username))
}

async function groupsOf(
  client: Client,
  entry: Entry,
  { groups, groupBase, groupFilter, base }: DirectorySettings,
  username: string,
): Promise<string[]> {
  if (groups === 'none') return []
  if (groups === 'memberOf') return groupsOfEntry(entry)
  const template = groups === 'nested' ? `(member:${IN_CHAIN}:={dn})` : groupFilter
  const filter = parsed('groups', filled(template, { dn: entry.dn, username }, inFilter))
  const found = await answered('groups', () => search(client, groupBase ?? base, { filter, attributes: ['1.1'] }))
  return found.map(({ dn }) => dn)
}

function parsed(question: 'filter' | 'groups', text: string): Filter {
  try {
    return FilterParser.parseString(text)
  } catch (error) {
    throw new DirectoryAnswer(question, error)
  }
}

/** People with these identifiers who the filter of people lets in. */
function filterOfSubjects(directory: DirectorySettings, subjects: readonly string[]): Filter | undefined {
  const { idAttribute: attribute, userFilter } = directory
  const values = subjects.flatMap(subject => valueOfSubject(subject, directory) ?? [])
  if (values.length === 0) return undefined
  const ids = values.map(value => new EqualityFilter({ attribute, value }))
  const anybody = parsed('filter', userFilter.replaceAll('{username}', '*'))
  return new AndFilter({ filters: [new OrFilter({ filters: ids }), anybody] })
}
