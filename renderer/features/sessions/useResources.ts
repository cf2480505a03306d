import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { parseSlots, type Image, type Resources } from '#manager/contract'
import { useServices } from '../../services.ts'

/** What there is to launch on, and with: capacity, use, and images. Kept true by event hints. */
export const useResources = defineStore('resources', () => {
  const { api, events } = useServices()
  const resources = ref<Resources | null>(null)
  const images = ref<Image[] | null>(null)
  const error = ref<unknown>(null)
  let refreshing: ReturnType<typeof setTimeout> | undefined

  const capacity = computed(() => parseSlots(resources.value?.capacity ?? {}))
  const occupied = computed(() => parseSlots(resources.value?.occupied ?? {}))
  const largest = computed(() => parseSlots(resources.value?.largest ?? {}))
  const free = computed(() => parseSlots(resources.value?.free ?? {}))
  /** What limits leave; a slot that is not in it is not limited. */
  const left = computed(() => parseSlots(resources.value?.left ?? {}))

  async function loadResources(): Promise<void> {
    try {
      resources.value = await api.getResources()
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }

  async function loadImages(): Promise<void> {
    try {
      images.value = (await api.listImages()).items
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }

  async function load(): Promise<void> {
    await Promise.all([loadResources(), loadImages()])
  }

  const soon = () => {
    refreshing ??= setTimeout(() => {
      refreshing = undefined
      if (resources.value) void loadResources()
    }, 250)
  }
  events.onHint(({ topic }) => {
    if (topic === 'image' && images.value) void loadImages()
    if (topic === 'resources' || topic === 'agent' || topic === 'session') soon()
  })
  events.onResync(() => {
    if (resources.value) void loadResources()
    if (images.value) void loadImages()
  })

  function clear(): void {
    resources.value = null
    images.value = null
    error.value = null
  }

  return { resources, images, error, capacity, occupied, largest, free, left, load, clear }
})
