import { type Placeholders } from '#base/placeholders'

/** The texts of one feature in one language: ICU messages by key. */
export type Messages = Readonly<Record<string, string>>

/** A translation of the texts `M`: the same keys, no more and no fewer. */
export type Translation<M extends Messages> = { readonly [K in keyof M]: string }

type IsNever<T> = [T] extends [never] ? true : false

/** Arguments of `t` after the key: nothing, or a value for each placeholder of the message. */
export type Parameters<Text extends string> =
  IsNever<Placeholders<Text>> extends true ? [] : [values: { readonly [Name in Placeholders<Text>]: string | number }]

/** The keys of the texts without placeholders. */
type PlainKey<M extends Messages> = {
  [K in keyof M & string]: IsNever<Placeholders<M[K]>> extends true ? K : never
}[keyof M & string]

/**
 * Reads a text. Two signatures, because with a single generic one, vue-tsc misses a wrong number of arguments in component properties: a
 * key of another feature would pass.
 */
export interface Read<M extends Messages> {
  (key: PlainKey<M>): string
  <K extends keyof M & string>(key: K, ...values: Parameters<M[K]>): string
}
