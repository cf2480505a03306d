/** The value of the key, made at the first question. */
export function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  let value = known.get(key)
  if (value === undefined) known.set(key, (value = make()))
  return value
}
