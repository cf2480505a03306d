/**
 * Every key of `T`, with undefined if `T` allows the key to be absent. Give this type to an object that is built from parts: a key that `T`
 * gains later is then missing there, and the compiler says so.
 */
export type Complete<T> = { [K in keyof Required<T>]: T[K] }

/** The fields that are set: a field whose type includes undefined may be absent. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** An object of the given fields without those that are undefined, as `exactOptionalPropertyTypes` wants optional ones. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
