import {
  AppError,
  DEFAULT_GROUP,
  DEFAULT_RESOURCE_GROUP,
  type Domain,
  type DomainChange,
  type DomainSpec,
  formatSlots,
  GroupId,
  parseSlots,
  type ResourceSlots,
  type WireSlots,
} from '#manager/contract'
import { type DomainRow, type DomainSettings, insertDomain, listDomains, updateDomain } from '../store/domains.ts'
import { insertGroup } from '../store/groups.ts'
import { deleteLogins } from '../store/logins.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { grantAccess } from '../store/resource-group-access.ts'
import { lockSuperadmins } from '../store/users.ts'
import { type Caller, isSuperadmin } from './authorize.ts'
import { type Logins } from './logins.ts'
import { requireSuperadmin } from './superadmins.ts'

/** Domains: the rules. They are made, changed and deactivated by superadmins, and never deleted. */
export interface Domains {
  /** An admin of a domain sees that one. */
  list(caller: Caller): Promise<Domain[]>
  /** With a group named `default`; it may use the resource group `default`. @throws AppError `domain_exists` */
  create(spec: DomainSpec): Promise<Domain>
  /**
   * What is left out stays. Deactivating ends every sign-in of its users at once here, within seconds at other managers;
   * their sessions go on until an admin ends them.
   *
   * @throws AppError `domain_not_found`, `last_superadmin`, `forbidden` (to deactivate the own one)
   */
  update(caller: Caller, name: string, change: DomainChange): Promise<Domain>
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
      if (!row) throw new AppError('domain_exists', { name, why: `There is a domain "${name}" already.` })
      return toView(row)
    },

    async update(caller, name, change) {
      const deactivates = change.active === false
      const { row, ended } = await store.transaction(async trx => {
        if (deactivates) await lockSuperadmins(trx)
        const row = await updateDomain(trx, name, settingsOf(change))
        if (!row) throw new AppError('domain_not_found', { name, why: `There is no domain "${name}".` })
        if (!deactivates) return { row, ended: [] }
        await requireSuperadmin(trx)
        if (name === caller.domain) throw new AppError('forbidden', { why: 'Nobody can deactivate their own domain.' })
        return { row, ended: await deleteLogins(trx, { domain: name }) }
      })
      if (deactivates) {
        await logins.tellEnd(ended)
        logins.forget(null)
      }
      if (change.limits || change.active !== undefined) onLimitsChanged?.()
      return toView(row)
    },
  }
}

function settingsOf({ limits, ...rest }: DomainChange): DomainSettings {
  return { ...rest, limits: baseUnits(limits) }
}

export function baseUnits(limits: WireSlots | undefined): ResourceSlots | undefined {
  return limits && parseSlots(limits)
}

function toView(row: DomainRow): Domain {
  const { name, description, active, limits, allowed_registries, created_at, version } = row
  return {
    name,
    description,
    active,
    limits: formatSlots(limits),
    allowedRegistries: allowed_registries,
    createdAt: created_at.toISOString(),
    version,
  }
}
