import {
  AppError,
  because,
  DEFAULT_DOMAIN,
  DEFAULT_GROUP,
  DEFAULT_RESOURCE_GROUP,
  type Domain,
  type DomainChange,
  type DomainSpec,
  formatGpuLimits,
  formatSlots,
  GroupId,
  keptNames,
  parseGpuLimits,
  parseSlots,
  type Removed,
  type ResourceSlots,
  type WireSlots,
} from '#manager/contract'
import {
  type DomainRow,
  type DomainSettings,
  findDomain,
  insertDomain,
  listDomains,
  updateDomain,
} from '../store/identity/domains.ts'
import { insertGroup } from '../store/identity/groups.ts'
import { parseSettings } from '../settings/rules.ts'
import { deleteLogins } from '../store/identity/logins.ts'
import { noSuchDomain } from '../store/missing.ts'
import { countFoldersOf } from '../store/storage/folders.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { countInDomain, countSessionsOf, deleteDomain, lockDomain } from '../store/identity/removal.ts'
import { grantAccess } from '../store/quotas/resource-group-access.ts'
import { type Db } from '../store/schema.ts'
import { holdSystemSettings, readSystemSettings } from '../store/operation/system-settings.ts'
import { lockSuperadmins } from '../store/identity/users.ts'
import { type Caller, isSuperadmin } from './authorize.ts'
import { type Logins } from './logins.ts'
import { type Contents, folders, liveSessions, purgeSessions, requireEmpty } from './removal.ts'
import { requireSuperadmin } from './superadmins.ts'

/** Rules of domains. Superadmins create, change, deactivate and delete them. */
export interface Domains {
  /** An admin of a domain sees only that domain. */
  list(caller: Caller): Promise<Domain[]>
  /** Creates a domain with a group named `default`; it may use the resource group `default`. @throws AppError `domain_exists` */
  create(spec: DomainSpec): Promise<Domain>
  /**
   * A key that is left out keeps its value. Deactivating ends every sign-in of the domain's users at once here, within
   * seconds at other managers; their sessions continue until an admin ends them.
   *
   * @throws AppError `domain_not_found`, `last_superadmin`, `forbidden` (to deactivate one's own domain)
   */
  update(caller: Caller, name: string, change: DomainChange): Promise<Domain>
  /**
   * Deletes an empty domain with its project `default`; with `purge` open invitations and the records of ended sessions are
   * deleted too. Users never are: move them to another domain first.
   *
   * @throws AppError `domain_not_found`, `domain_in_use` (also for the domain `default` and the one for sign-ups)
   */
  remove(name: string, options: { purge?: boolean | undefined }): Promise<Removed>
}

export interface DomainsDeps {
  readonly store: Store
  readonly logins: Pick<Logins, 'tellEnd' | 'forget'>
  readonly onLimitsChanged?: () => void
}

export function createDomains({ store, logins, onLimitsChanged }: DomainsDeps): Domains {
  return {
    async list(caller) {
      return (await listDomains(store.db, isSuperadmin(caller) ? undefined : caller.domain)).map(toView)
    },

    async create({ name, ...spec }) {
      const row = await store.transaction(async trx => {
        const domain = await insertDomain(trx, name, settingsOf(spec))
        if (domain) {
          await insertGroup(trx, { id: newId(GroupId), domain: name, name: DEFAULT_GROUP })
          await grantAccess(trx, DEFAULT_RESOURCE_GROUP, { domain: name })
        }
        return domain
      })
      if (!row) throw new AppError('domain_exists', { name, ...because('name_taken', { name }) })
      return toView(row)
    },

    async update(caller, name, change) {
      const deactivates = change.active === false
      const { row, ended } = await store.transaction(async trx => {
        if (deactivates) await lockSuperadmins(trx)
        const row = await updateDomain(trx, name, settingsOf(change))
        if (!row) throw noSuchDomain(name)
        if (!deactivates) return { row, ended: [] }
        await requireSuperadmin(trx)
        if (name === caller.domain) throw new AppError('forbidden', because('own_domain_stays'))
        return { row, ended: await deleteLogins(trx, { domain: name }) }
      })
      if (deactivates) {
        logins.forget(null)
        await logins.tellEnd(ended)
      }
      const { limits, gpuLimits, allowedNames, active } = change
      if ([limits, gpuLimits, allowedNames, active].some(one => one !== undefined)) onLimitsChanged?.()
      return toView(row)
    },

    async remove(name, { purge = false }) {
      const known = await findDomain(store.db, name)
      if (!known) throw noSuchDomain(name)
      if (name === DEFAULT_DOMAIN) {
        throw new AppError('domain_in_use', {
          name,
          ...because('default_domain_stays'),
        })
      }
      const sessions = purge && !known.active ? await purgeSessions(store, { domain: name }) : 0
      await store.transaction(async trx => {
        await holdSystemSettings(trx)
        const domain = await lockDomain(trx, name)
        if (!domain) throw noSuchDomain(name)
        requireEmpty('domain_in_use', name, await contentsOf(trx, name), { purge, active: domain.active })
        await deleteDomain(trx, name)
      })
      return { name, members: 0, sessions }
    },
  }
}

async function contentsOf(trx: Db, name: string): Promise<Contents> {
  const { users, projects, openInvitations } = await countInDomain(trx, name, DEFAULT_GROUP)
  const sessions = await countSessionsOf(trx, { domain: name })
  const { signUpDomain } = parseSettings((await readSystemSettings(trx)).system)
  return {
    holds: [
      ...(users === 0 ? [] : [because('domain_has_users', { count: users })]),
      ...(projects === 0 ? [] : [because('domain_has_projects', { count: projects, usual: DEFAULT_GROUP })]),
      ...liveSessions(sessions),
      ...folders(await countFoldersOf(trx, { domain: name })),
      ...(signUpDomain === name ? [because('domain_of_sign_up')] : []),
    ],
    purgeable: { invitations: openInvitations, records: sessions.ended },
  }
}

function settingsOf({ limits, gpuLimits, ...rest }: DomainChange): DomainSettings {
  const { allowedNames, defaultNames } = rest
  return {
    ...rest,
    limits: baseUnits(limits),
    gpuLimits: gpuLimits && parseGpuLimits(gpuLimits),
    allowedNames: allowedNames && keptNames(allowedNames),
    defaultNames: defaultNames && keptNames(defaultNames),
  }
}

export function baseUnits(limits: WireSlots | undefined): ResourceSlots | undefined {
  return limits && parseSlots(limits)
}

function toView(row: DomainRow): Domain {
  const { name, description, active, limits, allowed_registries, allowed_names, default_names, created_at, version } =
    row
  return {
    name,
    description,
    active,
    limits: formatSlots(limits),
    gpuLimits: formatGpuLimits(row.gpu_limits),
    allowedRegistries: allowed_registries,
    allowedNames: allowed_names && [...allowed_names],
    defaultNames: default_names && [...default_names],
    createdAt: created_at.toISOString(),
    version,
  }
}
