/** `--backchannel-logout-uri`: where an application is told that a session has ended. */
export const BACKCHANNEL_HELP =
  'https address that is told when a session of the person has ended (Back-Channel Logout)'
