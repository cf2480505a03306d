/**
 * Spreads a GPU share over several devices when no single device has enough free. It uses as few devices as possible, splits evenly
 * (programs expect the GPUs they see to be alike) in whole hundredths, and prefers devices on which the least then remains free.
 *
 * @param free hundredths per device
 * @returns hundredths per device, undefined if there is not enough
 */
export function spreadShares(free: readonly number[], amount: number): number[] | undefined {
  const ascending = free
    .map((free, index) => ({ free, index }))
    .filter(({ free }) => free > 0)
    .toSorted((a, b) => a.free - b.free || a.index - b.index)
  for (let count = 1; count <= ascending.length; count++) {
    let best: { parts: number[]; uneven: number; left: number } | undefined
    for (let start = 0; start + count <= ascending.length; start++) {
      const devices = ascending.slice(start, start + count)
      const parts = fillEvenly(
        devices.map(device => device.free),
        amount,
      )
      if (!parts) continue
      const uneven = Math.max(...parts) - Math.min(...parts)
      const left = devices.reduce((sum, device) => sum + device.free, -amount)
      if (best && (best.uneven < uneven || (best.uneven === uneven && best.left <= left))) continue
      const spread = free.map(() => 0)
      devices.forEach(({ index }, at) => (spread[index] = parts[at] ?? 0))
      best = { parts: spread, uneven, left }
    }
    if (best) return best.parts
  }
  return undefined
}

/** @param freeParts ascending: a device with less than an even part gives all of it, the others share the remainder */
function fillEvenly(freeParts: readonly number[], amount: number): number[] | undefined {
  let rest = amount
  const parts = freeParts.map((free, index) => {
    const part = Math.min(free, Math.floor(rest / (freeParts.length - index)))
    rest -= part
    return part
  })
  return rest === 0 ? parts : undefined
}
