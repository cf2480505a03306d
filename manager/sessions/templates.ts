import { AppError, because, MOST_TEMPLATES, type SessionSpec, type SessionTemplate } from '#manager/contract'
import { lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import {
  clearDefaultTemplate,
  deleteTemplate,
  listTemplates,
  type TemplateRow,
  updateDefaultTemplate,
  upsertTemplate,
} from '../store/sessions/templates.ts'
import { type Caller } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'

/** Templates of users. Each user has access only to their own. A request is checked when it is launched, not when it is stored. */
export interface SessionTemplates {
  list(caller: Caller): Promise<SessionTemplate[]>
  /** @throws AppError `too_many_templates`, `not_signed_in` (ended meanwhile) */
  save(caller: Caller, name: string, spec: SessionSpec): Promise<SessionTemplate>
  /** @throws AppError `template_not_found`, `not_signed_in` (ended meanwhile) */
  setDefault(caller: Caller, name: string, isDefault: boolean): Promise<SessionTemplate>
  /** @throws AppError `template_not_found` */
  remove(caller: Caller, name: string): Promise<void>
}

export function createSessionTemplates({ store }: { store: Pick<Store, 'db' | 'transaction'> }): SessionTemplates {
  const { db } = store
  return {
    async list({ userId }) {
      return (await listTemplates(db, userId)).map(toTemplate)
    },
    async save(caller, name, { startsAt: _startsAt, owner: _owner, ...spec }) {
      const { userId } = caller
      const saved = await store.transaction(async trx => {
        // Locked, so that simultaneous requests cannot exceed the limit together.
        await lockUser(trx, userId)
        await requireStillSignedIn(trx, caller)
        const known = await listTemplates(trx, userId)
        const replaces = known.some(template => template.name.toLowerCase() === name.toLowerCase())
        if (!replaces && known.length >= MOST_TEMPLATES) {
          throw new AppError('too_many_templates', {
            limit: MOST_TEMPLATES,
            ...because('templates_at_most', { count: known.length, limit: MOST_TEMPLATES }),
          })
        }
        return upsertTemplate(trx, { userId, name, spec })
      })
      return toTemplate(saved)
    },
    async setDefault(caller, name, isDefault) {
      const { userId } = caller
      const changed = await store.transaction(async trx => {
        // Locked, so that the later one of two simultaneous requests decides.
        await lockUser(trx, userId)
        await requireStillSignedIn(trx, caller)
        if (isDefault) await clearDefaultTemplate(trx, userId)
        const row = await updateDefaultTemplate(trx, { userId, name, isDefault })
        if (!row) throw noSuchTemplate(name)
        return row
      })
      return toTemplate(changed)
    },
    async remove({ userId }, name) {
      if (!(await deleteTemplate(db, userId, name))) throw noSuchTemplate(name)
    },
  }
}

const noSuchTemplate = (name: string) =>
  new AppError('template_not_found', { name, ...because('template_unknown', { name }) })

function toTemplate({ name, spec, is_default, created_at, updated_at }: TemplateRow): SessionTemplate {
  return { name, spec, isDefault: is_default, createdAt: created_at.toISOString(), updatedAt: updated_at.toISOString() }
}
