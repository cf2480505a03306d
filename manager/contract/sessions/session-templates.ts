import { z } from 'zod'
import { TextOf } from '../plain-text.ts'
import { StoredVariables } from './session-bytes.ts'
import { SessionSpec } from './sessions.ts'

/** Largest number of templates of one user. */
export const MOST_TEMPLATES = 100

export const TemplateName = TextOf(
  64,
  /^(?=.{1,64}$)[\p{L}\p{N}]([\p{L}\p{M}\p{N}._ -]*[\p{L}\p{M}\p{N}])?$/u,
  'must be letters, digits or inner "-", "_", ".", " "',
)

/** A request as it was stored; it is checked again when it is launched. */
const StoredSpec = z
  .object({ ...SessionSpec.shape, environ: StoredVariables, startupCommand: z.string().optional() })
  .meta({ id: 'StoredSessionSpec' })

/** A request for sessions that a user has stored under a name, to launch it again. Only this user sees it. */
export const SessionTemplate = z
  .object({
    name: TemplateName,
    spec: StoredSpec.describe('Without a start time and an owner, which belong to one launch.'),
    isDefault: z.boolean().describe('The launch dialog of the user begins with this template.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'SessionTemplate' })
export type SessionTemplate = z.infer<typeof SessionTemplate>
