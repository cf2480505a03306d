import { z } from 'zod'
import { type GroupId, GroupSpec, isAppError, UserId } from '#manager/contract'
import {
  countScimGroups,
  findHiddenGroup,
  findScimUsers,
  listScimGroups,
  listScimMembers,
  putScimGroup,
  type ScimGroupRow,
} from '../store/identity/scim.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { isUniqueViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import { type Groups } from '../users/groups.ts'
import { equalityOf, type Filter, fits } from './filter.ts'
import { type Found, partOf, type Wanted } from './list.ts'
import { type Doc, MOST_ITEMS, patched } from './patch.ts'
import { projectNameOf } from './project-name.ts'
import { readResource } from './read-resource.ts'
import { invalid, notFound, ScimError } from './scim-error.ts'
import { requireStillClient, type ScimClient } from './tokens.ts'

export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group'

/** Names that are tried for the project of a group. */
const MOST_NAMES = 20
const Given = z.object({
  displayName: z
    .string()
    .max(254)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters')
    .refine(name => name.trim() !== '', 'must not be empty'),
  externalId: z.string().max(254).nullish(),
  members: z
    .array(z.object({ value: z.string().max(100) }))
    .max(MOST_ITEMS)
    .nullish(),
})
type Given = z.infer<typeof Given>

export interface ScimGroupsDeps {
  readonly store: Store
  readonly groups: Pick<Groups, 'create' | 'update' | 'remove' | 'addMember' | 'removeMember'>
}

/**
 * Projects as groups of SCIM, RFC 7643 section 4.2: those of the token's domain but `default`, in which every account begins. The rules are
 * those of an administrator of the domain (`users/groups.ts`). The name of a group is kept as the client says it, and that of the project is
 * derived from it (`project-name.ts`); an administrator may change the latter. Groups in groups are refused. A deleted group has lost its
 * members; the project stays with its sessions and folders, out of the client's sight, for an administrator to delete.
 */
export interface ScimGroups {
  list(client: ScimClient, filter: Filter | undefined, wanted: Wanted): Promise<Found>
  /** @throws ScimError */
  get(client: ScimClient, id: string, withMembers?: boolean): Promise<Doc>
  create(client: ScimClient, body: unknown): Promise<Doc>
  replace(client: ScimClient, id: string, body: unknown): Promise<Doc>
  patch(client: ScimClient, id: string, body: unknown): Promise<Doc>
  remove(client: ScimClient, id: string): Promise<void>
}

export function createScimGroups({ store, groups }: ScimGroupsDeps): ScimGroups {
  const { db } = store

  async function docs(rows: readonly ScimGroupRow[], withMembers: boolean): Promise<Doc[]> {
    const members = withMembers
      ? await listScimMembers(
          db,
          rows.map(({ id }) => id),
        )
      : undefined
    return rows.map(row => toDoc(row, members && (members.get(row.id) ?? [])))
  }

  async function get({ domain }: ScimClient, id: string, withMembers = true): Promise<Doc> {
    const rows = await listScimGroups(db, domain, { attribute: 'id', value: id.toLowerCase() })
    const [doc] = await docs(rows, withMembers)
    if (!doc) throw notFound('group')
    return doc
  }

  /** Adds and removes only what a request says: two requests at a time must not undo each other. */
  async function setMembers(client: ScimClient, id: GroupId, { before, after }: Members): Promise<void> {
    for (const userId of without(after, before)) {
      // Thousands of members take a while.
      await requireStillClient(db, client)
      await groups.addMember(callerOf(client), id, userId as UserId).catch((error: unknown) => {
        // Deleted meanwhile.
        throw isAppError(error) && error.code === 'user_not_found' ? invalid(`No such user: ${userId}`) : error
      })
    }
    for (const userId of without(before, after)) {
      await groups.removeMember(callerOf(client), id, userId as UserId)
    }
  }

  async function write(client: ScimClient, current: Doc, given: Given): Promise<void> {
    const id = current.id as GroupId
    const { displayName } = given
    const [before, after] = [membersOf(current), membersOf(given)]
    await requireMembers(db, client, without(after, before))
    await put(client, id, given)
    // A project that an administrator has named otherwise keeps its name until the client names the group anew.
    if (projectNameOf(String(current.displayName)) !== projectNameOf(displayName)) {
      await firstFree(displayName, name => groups.update(callerOf(client), id, { name }))
    }
    await setMembers(client, id, { before, after })
    await note(client, 'scimChangeGroup', displayName)
  }

  async function isTaken(domain: string, displayName: string, except?: GroupId): Promise<boolean> {
    const found = await listScimGroups(db, domain, { attribute: 'displayname', value: displayName })
    return found.some(({ id }) => id !== except)
  }

  /** @throws ScimError if another group of the domain has the name */
  async function put(client: ScimClient, id: GroupId, { displayName, externalId = null }: Given): Promise<void> {
    if (await isTaken(client.domain, displayName, id)) throw taken()
    await putScimGroup(db, id, { domain: client.domain, displayName, externalId, hidden: false }).catch(
      (error: unknown) => {
        throw isUniqueViolation(error, 'scim_groups_name') ? taken() : error
      },
    )
  }

  /** The project of a new group, which may be one that the client deleted, with the members that it has. */
  async function make(
    client: ScimClient,
    given: Given,
  ): Promise<{ readonly id: GroupId; readonly before: readonly string[] }> {
    const { domain } = client
    const hidden = await findHiddenGroup(db, domain, given.displayName)
    if (hidden) {
      await put(client, hidden.id, given)
      return { id: hidden.id, before: await membersNow(db, hidden.id) }
    }
    if (await isTaken(domain, given.displayName)) throw taken()
    const caller = callerOf(client)
    const { id } = await firstFree(given.displayName, name => groups.create(caller, GroupSpec.parse({ name, domain })))
    // Another request may have made a group of this name meanwhile.
    await put(client, id, given).catch(async (error: unknown) => {
      await groups.remove(caller, id, {})
      throw error
    })
    return { id, before: [] }
  }

  const note = (client: ScimClient, action: string, target: string) =>
    insertAuditRows(db, [
      toAuditRow({
        ...{ action, target, result: 'ok', actor: `SCIM: ${client.name}`, domain: client.domain },
        detail: { scimToken: client.id },
      }),
    ])

  return {
    async list({ domain }, filter, wanted) {
      const { withMembers } = wanted
      const by = equalityOf(filter, ['displayname', 'externalid', 'id'] as const)
      if (!filter || by) {
        const [total, rows] = await Promise.all([
          countScimGroups(db, domain, by),
          listScimGroups(db, domain, by, wanted),
        ])
        return { total, resources: await docs(rows, withMembers) }
      }
      const found = (await docs(await listScimGroups(db, domain, undefined), true)).filter(doc => fits(filter, doc))
      const resources = partOf(found, wanted)
      return {
        total: found.length,
        resources: withMembers ? resources : resources.map(({ members: _, ...doc }) => doc),
      }
    },

    get,

    async create(client, body) {
      const given = readGroup(body)
      const after = membersOf(given)
      await requireMembers(db, client, after)
      const { id, before } = await make(client, given)
      await setMembers(client, id, { before, after })
      await note(client, 'scimCreateGroup', given.displayName)
      return get(client, id)
    },

    async replace(client, id, body) {
      await write(client, await get(client, id), readGroup(body))
      return get(client, id)
    },

    async patch(client, id, body) {
      const before = await get(client, id)
      await write(client, before, readGroup(patched(before, body)))
      return get(client, id)
    },

    async remove(client, id) {
      const before = await get(client, id)
      const { externalId = null, ...kept } = before as Doc & { id: GroupId; displayName: string; externalId?: string }
      const { id: groupId, displayName } = kept
      await setMembers(client, groupId, { before: await membersNow(db, groupId), after: [] })
      await putScimGroup(db, groupId, { domain: client.domain, displayName, externalId, hidden: true })
      await note(client, 'scimDeleteGroup', displayName)
    },
  }
}

/** Checks before anything is written: a request that fails changes nothing. @throws ScimError */
async function requireMembers(db: Db, { domain }: ScimClient, ids: readonly string[]): Promise<void> {
  const known = await findScimUsers(db, domain, ids as UserId[])
  const stranger = ids.find(id => !known.has(id as UserId))
  if (stranger !== undefined) throw invalid(`No such user: ${stranger}`)
}

/** All members, also those whom the client has deleted: they do not come back into the project with their accounts. */
async function membersNow(db: Db, id: GroupId): Promise<string[]> {
  const members = await listScimMembers(db, [id], { withHidden: true })
  return (members.get(id) ?? []).map(one => one.id)
}

interface Members {
  /** Ids of users, in small letters. */
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Ids of the first list, each once, that are not in the other. */
function without(ids: readonly string[], others: readonly string[]): string[] {
  const left = new Set(ids)
  for (const id of others) left.delete(id)
  return [...left]
}

/** Ids of members, in small letters. @throws ScimError */
const membersOf = ({ members }: { readonly members?: unknown }) =>
  ((members ?? []) as { readonly value: string }[]).map(({ value }) => {
    if (!UserId.safeParse(value).success) throw invalid(`No such user: ${value}`)
    return value.toLowerCase()
  })

/** A client has the rights of an administrator of its domain over projects, and is no person. */
const callerOf = ({ name, domain }: ScimClient): Caller => ({
  userId: '00000000-0000-0000-0000-000000000000' as UserId,
  email: `SCIM: ${name}`,
  role: 'domain_admin',
  domain,
  loginId: null,
  keypair: null,
  scopes: null,
})

const taken = () => new ScimError(409, 'Another group of the domain has this name.', 'uniqueness')

/** Does something with the first project name for a group that is free. */
async function firstFree<T>(displayName: string, act: (name: string) => Promise<T>): Promise<T> {
  for (let count = 1; count <= MOST_NAMES; count++) {
    try {
      return await act(projectNameOf(displayName, count))
    } catch (error) {
      if (!isAppError(error) || error.code !== 'group_exists') throw error
    }
  }
  throw taken()
}

const readGroup = (body: unknown): Given => readResource(Given, body)

function toDoc(row: ScimGroupRow, members: readonly { readonly id: string; readonly name: string }[] | undefined): Doc {
  return {
    schemas: [GROUP_SCHEMA],
    id: row.id,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    displayName: row.display_name,
    ...(members && { members: members.map(({ id: value, name: display }) => ({ value, display, type: 'User' })) }),
    meta: {
      resourceType: 'Group',
      created: row.created_at.toISOString(),
      lastModified: (row.changed_at ?? row.created_at).toISOString(),
      version: `W/"${row.version}"`,
    },
  }
}
