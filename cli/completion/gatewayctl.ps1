# PowerShell completion of gatewayctl: gatewayctl completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName gatewayctl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    # Words without their quotes. They are read, not evaluated.
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object {
        if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
    # An empty argument is lost on its way to a native program; two quotes stand for it.
    if ($wordToComplete -eq '') { $words += '""' }
    & gatewayctl __complete -- @words 2>$null | ForEach-Object {
        $value, $told = $_ -split "`t", 2
        if ($value -ne ':files') {
            if (-not $told) { $told = $value }
            $typed = $value
            if ($value -notmatch '^[\w./:%+=-][\w./:@%+=-]*$') {
                $typed = "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($value) + "'"
            }
            [System.Management.Automation.CompletionResult]::new($typed, $value, 'ParameterValue', $told)
        }
    }
}
