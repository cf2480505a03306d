import { AppError, formatAmount, parseAmount, SLOT_NAMES, type SlotName, type WireSlots } from '#manager/contract'

const isSlot = (name: string): name is SlotName => (SLOT_NAMES as readonly string[]).includes(name)

/** Amounts of a request; memory as the original writes it (`1g`, `512m`, bytes). @throws AppError `bad_request` for slots that Berth has not */
export function readSlots(amounts: Readonly<Record<string, string>>): WireSlots {
  const slots: Partial<Record<SlotName, string>> = {}
  for (const [name, amount] of Object.entries(amounts)) {
    if (isSlot(name)) slots[name] = amount
    else
      throw new AppError('bad_request', {
        why: `Berth has no resource "${name.slice(0, 64)}". It has: ${SLOT_NAMES.join(', ')}.`,
      })
  }
  return slots
}

/** Amounts of an answer: memory in bytes, everything else as a decimal number, in texts. */
export function tellSlots(slots: WireSlots): Record<string, string> {
  return Object.fromEntries(
    SLOT_NAMES.flatMap(name => {
      const text = slots[name]
      const amount = text === undefined ? undefined : parseAmount(name, text)
      return amount === undefined ? [] : [[name, formatAmount(name, amount)]]
    }),
  )
}

/** Amounts as the original has them in GraphQL: a text of JSON. */
export const slotsText = (slots: WireSlots): string => JSON.stringify(tellSlots(slots))
