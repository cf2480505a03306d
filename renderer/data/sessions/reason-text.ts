import { type Reason } from '#manager/contract'
import { causeText } from '../../ui/cause-text.ts'
import { amountText, SLOT_LABELS } from '../../ui/slot-text.ts'
import { formatStart, localTimes } from '../../ui/format.ts'
import type en from '../../words/en/reasons.ts'
import { defineTranslations } from '../../words/i18n.ts'

const translated = defineTranslations<typeof en>('reasons')

/**
 * The reason for a session's status in the language of the page. English is the manager's text, which names hosts and amounts. In
 * another language it is the text of its key, else a sentence for the code with the amounts and the expected start.
 */
export function reasonText(reason: Reason): string {
  const whole = causeText(reason)
  if (whole !== undefined) return whole
  const sentence = translated(reason.code)
  if (sentence === undefined) return localTimes(reason.message)
  const { needed, available, expectedBy, notBefore, note } = reason
  const amounts = needed && available && { needed: slotsText(needed), available: slotsText(available) }
  return [
    sentence,
    note,
    amounts && translated('amounts', amounts),
    expectedBy && translated('startsBy', { time: formatStart(new Date(expectedBy), new Date()) }),
    notBefore && translated('startsFrom', { time: formatStart(new Date(notBefore), new Date()) }),
  ]
    .filter(Boolean)
    .join(' ')
}

function slotsText(slots: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(slots)
    .map(([slot, amount = '0']) => `${SLOT_LABELS[slot] ?? slot} ${amountText(slot, amount)}`)
    .join(', ')
}
