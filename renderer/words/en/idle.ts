/** Sign-out of a browser that nobody uses. */
export default {
  title: 'Are you still there?',
  text: 'Nobody has used this browser for a while. You will be signed out in {time}. Nothing is lost: the page stays as it is, and sessions keep running.',
  stay: 'Stay signed in',
  signOut: 'Sign out now',
} as const
