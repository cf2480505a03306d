import { formatDateTime } from '../../../ui/format.ts'
import { t as shared } from '../../../words/en/admin.ts'
import { SETTING_FIELDS, type SettingKey } from './setting-fields.ts'
import { t } from '../../../words/en/admin-system.ts'

const CHOICES = {
  off: 'choice_off',
  invitation: 'choice_invitation',
  request: 'choice_request',
  ask: 'choice_ask',
  allow: 'choice_allow',
  open: 'choice_open',
  automatic: 'choice_automatic',
  manual: 'choice_manual',
  info: 'choice_info',
  warning: 'choice_warning',
  critical: 'choice_critical',
  tls: 'choice_tls',
  starttls: 'choice_starttls',
  none: 'choice_none',
  everyone: 'choice_everyone',
  superadmins: 'choice_superadmins',
} as const
const isChoice = (value: string): value is keyof typeof CHOICES => Object.hasOwn(CHOICES, value)
export const choiceText = (value: string): string => (isChoice(value) ? t(CHOICES[value]) : value)

/** The value of a setting as people read it. */
export function valueText(key: SettingKey, value: string | number | boolean | null): string {
  const field = SETTING_FIELDS[key]
  if (value === null) return t(field.kind === 'number' ? (field.empty ?? 'notSet') : 'notSet')
  if (typeof value === 'boolean') return shared(value ? 'active' : 'inactive')
  if (field.kind === 'moment') return formatDateTime(new Date(value))
  return field.kind === 'choice' ? choiceText(String(value)) : String(value)
}
