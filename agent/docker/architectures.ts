/** The kernel's names of architectures, with the names in images, which are those of Go. */
const NAMES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  i386: '386',
  i686: '386',
  armv6l: 'arm',
  armv7l: 'arm',
  armv8l: 'arm',
}
/** Older architectures that most processors of the newer one also run: a host is excluded only if it certainly cannot run an image. */
const OLDER: Readonly<Record<string, string>> = { amd64: '386', arm64: 'arm' }

/**
 * Architectures of images that an engine runs, its own first.
 *
 * @param reported architecture that the engine reports; empty if it reports none
 * @param emulated further architectures, for which the administrator has set up an emulator
 */
export function runnableArchitectures(reported: string, emulated: readonly string[]): string[] {
  if (reported === '') return []
  const own = NAMES[reported] ?? reported
  const older = OLDER[own]
  return [...new Set([own, ...(older === undefined ? [] : [older]), ...emulated])]
}
