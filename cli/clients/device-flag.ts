/** `--device`: whether people sign in to an application on another screen. */
export const DEVICE_HELP =
  'people sign in on another screen, by a code that it shows (RFC 8628); with --public, --redirect-uri may be left out'
