import { z } from 'zod'
import { type SlotName, TextUpTo, Token } from '#manager/contract'

/** Fields of several messages, with bounds against a hostile or faulty agent. */

export const Ipv4 = () => TextUpTo(15).check(z.ipv4())

/**
 * Largest plausible amounts of one host: a larger one is a mistake or a lie. Sums over thousands of agents stay exact. In base units: a
 * million cores, 64 TiB, a thousand GPUs.
 */
export const CEILINGS = {
  cpu: 1e9,
  mem: 2 ** 46,
  'cuda.device': 1_000,
  'cuda.shares': 100_000,
} as const satisfies Record<SlotName, number>
const amountUpTo = (most: number) => z.int().min(0).max(most).optional()

/** Amounts by slot, in base units. Slots that this version does not know are left out. */
export const Amounts = z
  .object({
    cpu: amountUpTo(CEILINGS.cpu),
    mem: amountUpTo(CEILINGS.mem),
    'cuda.device': amountUpTo(CEILINGS['cuda.device']),
    'cuda.shares': amountUpTo(CEILINGS['cuda.shares']),
  })
  .transform((amounts): Record<string, number> =>
    Object.fromEntries(
      Object.entries(amounts).flatMap(([slot, amount]) => (amount === undefined ? [] : [[slot, amount]])),
    ),
  )
export const Bytes = z
  .number()
  .min(0)
  .max(2 ** 53)
export const Milliseconds = z.number().min(0).max(253_402_300_799_999)
export const ExitCode = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1)
export const Attempt = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
/** Characters of a name or an id, of a variable or a command, and of what a host says: a log, or an error of the engine. */
export const LONGEST_NAME = 1_000
export const LONGEST_VALUE = 200_000
export const LONGEST_SAID = 16_777_216
export const ImageName = Token(512)
export const ContainerId = Token(128)
