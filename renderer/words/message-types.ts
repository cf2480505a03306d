/** The texts of one feature in one language: ICU messages by key. */
export type Messages = Readonly<Record<string, string>>

/** A translation of the texts `M`: the same keys, no more and no fewer. */
export type Translation<M extends Messages> = { readonly [K in keyof M]: string }

/** Placeholders of a message: `'{count, plural, other {# files of {owner}}}'` → `'count' | 'owner'`. */
type Names<Text extends string> = Text extends `${string}{${infer Rest}` ? NameAt<Rest> | Names<Rest> : never
type NameAt<Rest extends string> = Rest extends `${infer Inner}}${string}`
  ? Inner extends `${infer Name},${string}`
    ? Word<Name>
    : Word<Inner>
  : never
/** Text of a branch has blanks, signs or is empty; a name has none of them. */
type Word<Text extends string> = Text extends `${string}${' ' | '#' | '{' | '.'}${string}` | '' ? never : Text

type IsNever<T> = [T] extends [never] ? true : false

/** What `t` takes after the key: nothing, or a value for each placeholder of the message. */
export type Parameters<Text extends string> =
  IsNever<Names<Text>> extends true ? [] : [values: { readonly [Name in Names<Text>]: string | number }]
