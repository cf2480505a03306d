import { formatAmount, parseAmount, SLOTS, type SlotName } from '#manager/contract'
import { t } from '../words/en/amounts.ts'
import { t as shared } from '../words/en/ui.ts'

/** Like `parseAmount`, except that a bare number of memory means GiB. */
export function readAmount(slot: SlotName, typed: string): number | undefined {
  const text = typed.trim()
  return parseAmount(slot, SLOTS[slot].type === 'BYTES' && /^[\d.]+$/.test(text) ? `${text}g` : text)
}

const MIB = 2 ** 20
const GIB = 2 ** 30
export type Rounding = (value: number) => number

/** Writes memory with its unit (`64 MiB`, `1.5 GiB`), in whole MiB or hundredths of GiB; other amounts as exact bare numbers. */
export function writeAmount(slot: SlotName, amount: number, round: Rounding = Math.round): string {
  if (Number.isNaN(amount)) return ''
  if (SLOTS[slot].type !== 'BYTES') return formatAmount(slot, amount)
  return amount < GIB ? `${round(amount / MIB)} MiB` : `${round((amount / GIB) * 100) / 100} GiB`
}

/** The mistake of an amount outside its range, else empty. Bounds are rounded so that typing the shown number is valid. */
export function rangeFault(slot: SlotName, amount: number, { min, max }: { min: number; max: number }): string {
  if (amount < min) return t('imageMinimum', { amount: writeAmount(slot, min, Math.ceil) })
  return amount > max ? shared('atMost', { amount: writeAmount(slot, max, Math.floor) }) : ''
}

/** The mistake of a text that cannot be parsed as an amount, with the correct form; else empty. */
export function amountFault(slot: SlotName, typed: string): string {
  const text = typed.trim()
  const isBytes = SLOTS[slot].type === 'BYTES'
  const example = isBytes ? t('exampleBytes') : SLOTS[slot].base === 1 ? '1' : '1.5'
  const canBeRead = (other: string) => readAmount(slot, other) !== undefined
  if (text === '') return t('enterAmount', { example })
  if (canBeRead(text)) return ''
  if (/^[-−]/.test(text)) return t('notNegative')
  const withPoint = text.replace(',', '.')
  if (text.includes(',')) {
    return canBeRead(withPoint) ? t('usePoint', { text: withPoint }) : t('useDigits', { example })
  }
  const decimals = decimalsOf(slot)
  if (!isBytes && /^\d+\.\d+$/.test(text)) return decimals === 0 ? t('onlyWhole') : t('decimals', { count: decimals })
  return isBytes ? t('notMemory', { example }) : t('notNumber', { example })
}

/** Number of decimal places of the slot: 1/1000 of a core has three. */
const decimalsOf = (slot: SlotName) => String(SLOTS[slot].base).length - 1
