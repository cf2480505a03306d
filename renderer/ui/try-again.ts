import { type Host } from '../host.ts'

/**
 * Call when the user wants another try. The desktop app may then repeat questions that were cancelled, e.g. for the password of a proxy.
 */
export async function tryAgain(host: Host, act: () => void): Promise<void> {
  // The try does not depend on the app's answer.
  if (host.isDesktop) await host.desktop.tryAgain().catch(() => undefined)
  act()
}
