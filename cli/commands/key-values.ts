import { type ZodType } from 'zod'
import { AppError } from '#manager/contract'

export interface KeyValueRules<Shape> {
  readonly shape: Shape
  /**
   * The key whose value must not be an argument, because other users of this computer can see command lines, and the option to use instead.
   */
  readonly secret: { readonly key: string; readonly option: string }
  /** Returns the values that a text may stand for, the likeliest first. */
  readonly meaningsOf: (text: string, key: string) => readonly unknown[]
}

/** Parses arguments `key=value`, each by the schema of its key. @throws AppError `bad_request` */
export function parseKeyValues<Shape extends Readonly<Record<string, ZodType>>>(
  args: readonly string[],
  { shape, secret, meaningsOf }: KeyValueRules<Shape>,
): Record<string, unknown> {
  const entries = args.map(arg => {
    const at = arg.indexOf('=')
    const [key, text] = [arg.slice(0, at), arg.slice(at + 1)]
    if (key === secret.key) {
      const why = `Use ${secret.option} instead: other users of this computer can see command lines.`
      throw new AppError('bad_request', { why })
    }
    const schema = at > 0 && Object.hasOwn(shape, key) ? shape[key] : undefined
    if (!schema) {
      const keys = Object.keys(shape).join(', ')
      throw new AppError('bad_request', { why: `"${arg}" does not have the form key=value with a key of ${keys}.` })
    }
    const tries = meaningsOf(text, key).map(meaning => schema.safeParse(meaning))
    const good = tries.find(parsed => parsed.success)
    if (good) return [key, good.data] as const
    // Report the first attempt: its message has the allowed range, while that of the second only says that a text is not a
    // number.
    throw new AppError('bad_request', { why: `${key}: ${tries[0]?.error?.issues[0]?.message ?? 'is not valid'}` })
  })
  return Object.fromEntries(entries)
}
