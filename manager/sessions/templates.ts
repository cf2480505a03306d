import { AppError, because, MOST_TEMPLATES, type SessionSpec, type SessionTemplate } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { deleteTemplate, listTemplates, type TemplateRow, upsertTemplate } from '../store/sessions/templates.ts'
import { type Caller } from '../users/authorize.ts'

/** Templates of users. Each user reaches only their own. A request is checked when it is launched, not when it is stored. */
export interface SessionTemplates {
  list(caller: Caller): Promise<SessionTemplate[]>
  /** @throws AppError `too_many_templates` */
  save(caller: Caller, name: string, spec: SessionSpec): Promise<SessionTemplate>
  /** @throws AppError `template_not_found` */
  remove(caller: Caller, name: string): Promise<void>
}

export function createSessionTemplates({ db }: { db: Db }): SessionTemplates {
  return {
    async list({ userId }) {
      return (await listTemplates(db, userId)).map(toTemplate)
    },
    async save({ userId }, name, { startsAt: _startsAt, owner: _owner, ...spec }) {
      const known = await listTemplates(db, userId)
      const replaces = known.some(template => template.name.toLowerCase() === name.toLowerCase())
      if (!replaces && known.length >= MOST_TEMPLATES) {
        const why = `You have ${known.length} templates; ${MOST_TEMPLATES} are allowed. Delete one first.`
        throw new AppError('too_many_templates', { limit: MOST_TEMPLATES, why })
      }
      return toTemplate(await upsertTemplate(db, { userId, name, spec }))
    },
    async remove({ userId }, name) {
      if (await deleteTemplate(db, userId, name)) return
      throw new AppError('template_not_found', { name, ...because('template_unknown', { name }) })
    },
  }
}

function toTemplate({ name, spec, created_at, updated_at }: TemplateRow): SessionTemplate {
  return { name, spec, createdAt: created_at.toISOString(), updatedAt: updated_at.toISOString() }
}
