import { defineStore } from 'pinia'
import { computed, shallowRef, watch } from 'vue'
import { type HostInfo } from '#proxy/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

/**
 * Where this page runs, as seen from the computer whose ports the local proxy opens:
 *
 * - `desktop`: in the desktop app, which has a proxy of its own
 * - `here`: in a browser on Berth's computer that has proved it
 * - `unproved`: in a browser that may be on Berth's computer and has not proved it
 * - `elsewhere`: in a browser on another computer; loopback ports of Berth's computer are no use to it
 */
export type BrowserPlace = 'desktop' | 'here' | 'unproved' | 'elsewhere'

export function placeOf({ kind, isUnproven }: Pick<HostInfo, 'kind' | 'isUnproven'>): BrowserPlace {
  if (kind === 'electron') return 'desktop'
  if (kind === 'local') return 'here'
  return isUnproven ? 'unproved' : 'elsewhere'
}

/** The place of this page; fetched once, and again after a proof. */
export const useBrowserPlace = defineStore('browser place', () => {
  const { host } = useServices()
  const account = useAccount()
  const info = shallowRef<HostInfo | null>(null)
  const place = computed(() => info.value && placeOf(info.value))
  /** Whether ports of this computer can be opened from this page; true until it is known. */
  const opensPorts = computed(() => place.value === null || place.value === 'desktop' || place.value === 'here')
  const isElsewhere = computed(() => place.value === 'elsewhere')
  /** Whether web apps open at the address of apps instead of a port of this computer. */
  const usesAppsAddress = computed(() => !opensPorts.value && info.value?.opensApps === true)
  /** Whether the console has called the address of apps and found a fault; known to superadmins only. */
  const hasAppsFault = computed(() => Boolean(info.value?.apps?.fault))
  /** Whether a click can open a web app. In a browser that has not proved its place, the page explains how. */
  const opensWebApps = computed(() => !isElsewhere.value || usesAppsAddress.value)

  watch(
    () => account.localProofs,
    () => (info.value = null),
    { flush: 'sync' },
  )

  /** @throws the host's error */
  async function read(): Promise<BrowserPlace> {
    const proofs = account.localProofs
    const read = await host.host.info()
    // A proof has come in the meantime, so this answer is stale.
    if (proofs !== account.localProofs) return known()
    info.value = read
    return placeOf(read)
  }
  /** The place, read if it is not known yet. @throws the host's error */
  const known = async (): Promise<BrowserPlace> => place.value ?? (await read())

  return { info, place, opensPorts, isElsewhere, usesAppsAddress, opensWebApps, hasAppsFault, read, known }
})
