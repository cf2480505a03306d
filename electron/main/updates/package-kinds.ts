import { access } from 'node:fs/promises'
import { type UpdateFile } from '#proxy/updates'

/** Forms in which this system takes the app, the best first. @param appImage the AppImage that runs, if it is one */
export async function packageKinds(
  platform: NodeJS.Platform,
  appImage: string | undefined,
): Promise<readonly UpdateFile['kind'][]> {
  if (platform === 'darwin') return ['dmg']
  if (platform === 'win32') return ['exe']
  if (appImage !== undefined) return ['AppImage']
  const has = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    )
  if (await has('/etc/debian_version')) return ['deb', 'tar.gz']
  return (await has('/usr/bin/rpm')) ? ['rpm', 'tar.gz'] : ['tar.gz']
}
