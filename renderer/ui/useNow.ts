import { onScopeDispose, readonly, ref, type Ref } from 'vue'

let shared: { readonly now: Ref<Date>; users: number; timer: ReturnType<typeof setInterval> | undefined } | undefined

/** The current time, updated once per second by one timer for the whole page, which runs only while the time is shown. */
export function useNow(): Readonly<Ref<Date>> {
  shared ??= { now: ref(new Date()), users: 0, timer: undefined }
  const clock = shared
  clock.users += 1
  clock.now.value = new Date()
  clock.timer ??= setInterval(() => {
    clock.now.value = new Date()
  }, 1000)
  onScopeDispose(() => {
    clock.users -= 1
    if (clock.users > 0) return
    clearInterval(clock.timer)
    clock.timer = undefined
  })
  return readonly(clock.now)
}
