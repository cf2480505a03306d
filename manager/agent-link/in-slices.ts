const AT_ONCE = 250

/** Maps a list of thousands of items, and yields to timers and sockets after every few hundred. */
export async function mapInSlices<From, To>(list: readonly From[], map: (item: From) => To): Promise<To[]> {
  const mapped: To[] = []
  for (let at = 0; at < list.length; at += AT_ONCE) {
    if (at > 0) await new Promise(resolve => setImmediate(resolve))
    for (const item of list.slice(at, at + AT_ONCE)) mapped.push(map(item))
  }
  return mapped
}
