import { mdiAlertOctagonOutline, mdiLightningBolt, mdiTimerSandEmpty } from '@mdi/js'
import { isAppError, parseAmount, type ErrorCode, type Reason, type SlotName, type WhatIf } from '#manager/contract'
import { messageText } from '../../ui/cause-text.ts'
import { errorText } from '../../ui/error-text.ts'
import { formatStart } from '../../ui/format.ts'
import { reasonText } from '../../data/sessions/reason-text.ts'
import { amountText } from './amount-text.ts'
import { startText, type Forecast } from './forecast.ts'
import { type GpuSlot, type LaunchForm } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

/** A change of one slot after which the session would start now. */
export interface Offer {
  readonly field: 'cpu' | 'mem' | 'gpu'
  readonly amount: number
  readonly text: string
}

/** The manager's answer about a request, as shown on the page. */
export interface Outlook extends Forecast {
  readonly offer: Offer | null
  /** The network that a launch gets that chooses none, and why; missing if it is everything. */
  readonly network?: string
}

/** Codes of refusals that hold until the user changes the request. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'group_inactive',
  'group_needed',
  'group_not_found',
  'network_not_allowed',
  'network_not_enforceable',
  'over_concurrency_limit',
  'over_container_limit',
  'over_domain_limit',
  'over_group_limit',
  'over_keypair_policy',
  'over_user_policy',
  'request_too_large',
  'resource_group_not_found',
])

export const OUTLOOK_ICONS: Readonly<Record<Forecast['kind'], string>> = {
  now: mdiLightningBolt,
  waits: mdiTimerSandEmpty,
  never: mdiAlertOctagonOutline,
  unknown: mdiTimerSandEmpty,
}

interface Asked {
  readonly count: number
  /** Whether the image has to be pulled first. */
  readonly pulled: boolean
  readonly gpu: GpuSlot | undefined
}

/** Formats the answer to a what-if request. */
export function outlookOf(answer: WhatIf, asked: Asked): Outlook {
  const usual = answer.notices.find(({ code }) => code === 'network_by_default')
  const start = startOf(answer, asked)
  return usual ? { ...start, network: messageText(usual) } : start
}

function startOf({ startsNow, reason, smaller, notices }: WhatIf, { count, pulled, gpu }: Asked): Outlook {
  if (startsNow) {
    const copied = notices.find(({ code }) => code === 'image_from_host')
    const start = startText(count, pulled && !copied)
    return { kind: 'now', text: copied ? `${start} ${messageText(copied)}` : start, offer: null }
  }
  if (reason?.code === 'dependency_failed') return { kind: 'never', text: reasonText(reason), offer: null }
  if (reason?.notBefore) return scheduledFor(reason.notBefore)
  const offers = smaller.flatMap(({ slot, amount }) => {
    const offer = offerOf(slot, amount, gpu)
    return offer ? [offer] : []
  })
  return { kind: 'waits', text: reason ? waitText(reason) : t('queued'), offer: offers[0] ?? null }
}

/** The forecast for a session that starts later: the free capacity at that time is not known. */
export function scheduledFor(startsAt: string): Outlook {
  const time = formatStart(new Date(startsAt), new Date())
  return { kind: 'waits', text: t('startsLater', { time }), offer: null }
}

/** Formats a refusal. @returns null for a failure that says nothing about the request */
export function outlookOfRefusal(error: unknown): Outlook | null {
  if (!isAppError(error) || !REFUSALS.has(error.code)) return null
  const { title, why } = errorText(error)
  return { kind: 'never', text: t('cannotStart', { why: why || `${title}.` }), offer: null }
}

export function withOffer(form: LaunchForm, { field, amount }: Offer): LaunchForm {
  return { ...form, [field]: amount }
}

function offerOf(slot: SlotName, text: string, gpu: GpuSlot | undefined): Offer | null {
  const amount = parseAmount(slot, text)
  const field = slot === 'cpu' || slot === 'mem' ? slot : slot === gpu ? 'gpu' : null
  return amount === undefined || field === null
    ? null
    : { field, amount, text: t('useAmount', { amount: amountText(slot, amount) }) }
}

function waitText({ expectedBy, ...cause }: Reason): string {
  const why = t('queuedFor', { why: inSentence(reasonText(cause)).replace(/\.?$/, '.') })
  return expectedBy ? `${why} ${t('startsBy', { time: formatStart(new Date(expectedBy), new Date()) })}` : why
}

/** `Needs 2 GPU` → `needs 2 GPU`; names and quotes stay as they are. */
function inSentence(text: string): string {
  return /^[A-Z][a-z]+ /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
