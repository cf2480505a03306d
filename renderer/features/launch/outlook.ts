import { mdiAlertOctagonOutline, mdiLightningBolt, mdiTimerSandEmpty } from '@mdi/js'
import { isAppError, parseAmount, type ErrorCode, type SlotName, type WhatIf } from '#manager/contract'
import { errorText } from '../../ui/error-text.ts'
import { localTimes } from '../../ui/format.ts'
import { amountText } from './amount-text.ts'
import { type Forecast } from './forecast.ts'
import { type GpuSlot, type LaunchForm } from './launch-form.ts'

/** A change of one slot with which the session would start now. */
export interface Offer {
  readonly field: 'cpu' | 'mem' | 'gpu'
  readonly amount: number
  readonly text: string
}

/** The manager's answer about a request, as shown on the page. */
export interface Outlook extends Forecast {
  readonly offer: Offer | null
}

/** Codes of refusals that hold until the user changes the request. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'group_inactive',
  'group_not_found',
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

/** Turns a what-if answer into words. @param pulled whether the image has to be pulled first */
export function outlookOf(
  { startsNow, reason, smaller }: WhatIf,
  { count, pulled, gpu }: { count: number; pulled: boolean; gpu: GpuSlot | undefined },
): Outlook {
  if (startsNow) {
    const pull = pulled ? ' The image is pulled first.' : ''
    const start = count > 1 ? 'The first starts now, the others when there is room.' : 'Starts now.'
    return { kind: 'now', text: `${start}${pull}`, offer: null }
  }
  const why = reason ? `: ${inSentence(localTimes(reason.message)).replace(/\.?$/, '.')}` : '.'
  if (reason?.code === 'dependency_failed') return { kind: 'never', text: reason.message, offer: null }
  const latest = reason?.expectedBy ? ` Starts by ${whenText(reason.expectedBy)} at the latest.` : ''
  const offers = smaller.flatMap(({ slot, amount }) => {
    const offer = offerOf(slot, amount, gpu)
    return offer ? [offer] : []
  })
  return { kind: 'waits', text: `Will be queued${why}${latest}`, offer: offers[0] ?? null }
}

/** Turns a refusal into words. @returns null for a failure that says nothing about the request */
export function outlookOfRefusal(error: unknown): Outlook | null {
  if (!isAppError(error) || !REFUSALS.has(error.code)) return null
  const { title, why } = errorText(error)
  return { kind: 'never', text: `Cannot start: ${why || `${title}.`}`, offer: null }
}

export function withOffer(form: LaunchForm, { field, amount }: Offer): LaunchForm {
  return { ...form, [field]: amount }
}

function offerOf(slot: SlotName, text: string, gpu: GpuSlot | undefined): Offer | null {
  const amount = parseAmount(slot, text)
  const field = slot === 'cpu' || slot === 'mem' ? slot : slot === gpu ? 'gpu' : null
  return amount === undefined || field === null ? null : { field, amount, text: `Use ${amountText(slot, amount)}` }
}

/** `Needs 2 GPU` → `needs 2 GPU`; names and quotes stay as they are. */
function inSentence(text: string): string {
  return /^[A-Z][a-z]+ /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

function whenText(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' })
}
