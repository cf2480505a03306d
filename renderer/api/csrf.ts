/** The token that proves a request comes from our page. In memory only; a reload asks the manager for it again. */
let token = ''

export const csrfToken = {
  get: () => token,
  set: (next: string) => {
    token = next
  },
}
